package doctor_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/doctor"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// A fault is one thing that can be wrong, made by its function, with what has to be found.
type fault struct {
	name string
	make func(t *testing.T, u *host.Upstream, o *doctor.Options)
	id   doctor.ID
	text string // a part of the text
	fix  string // a part of the fix; empty for none
	// warning says that the server can be used all the same.
	warning bool
}

// faults are those of all files of tests; those of programs are added on Unix.
var faults = slices.Concat(configurationFaults, networkFaults, httpFaults, protocolFaults)

func TestEachFaultIsFoundByName(t *testing.T) {
	t.Parallel()
	for _, f := range faults {
		t.Run(string(f.id)+"/"+f.name, func(t *testing.T) {
			t.Parallel()
			u, o := newSubject(t)
			f.make(t, u, o)
			r := examine(t, u, o)
			found, want := r.FirstFault(), doctor.Fault
			if f.warning {
				want = doctor.Warning
				i := slices.IndexFunc(r.Results, func(one doctor.Result) bool { return one.ID == f.id })
				if i < 0 {
					t.Fatalf("got %+v, want a warning %s", r.Results, f.id)
				}
				found = &r.Results[i]
			}
			if found == nil {
				t.Fatalf("got %+v, want the fault %s", r.Results, f.id)
			}
			if found.ID != f.id || found.Status != want || !strings.Contains(found.Text, f.text) {
				t.Errorf("got %+v\nwant %s %s, %q", *found, want, f.id, f.text)
			}
			if !strings.Contains(found.Fix, f.fix) || f.fix == "" && found.Fix != "" {
				t.Errorf("got the fix %q, want %q", found.Fix, f.fix)
			}
		})
	}
}

// newSubject returns a server that is in a configuration and approved, whose target the test sets.
func newSubject(t *testing.T) (*host.Upstream, *doctor.Options) {
	t.Helper()
	u := &host.Upstream{Key: "notes", Origin: host.Origin{File: "/home/u/mcp.json"}}
	return u, &doctor.Options{
		Admit: func(context.Context) (*doctor.Admission, error) { return &doctor.Admission{Upstream: u}, nil },
		Proxy: func(*http.Request) (*url.URL, error) { return nil, nil },
		Env:   func(string) (string, bool) { return "", false },
	}
}

// examine examines a server, and checks what holds for every report.
func examine(t *testing.T, u *host.Upstream, o *doctor.Options) *doctor.Report {
	t.Helper()
	r := doctor.Examine(t.Context(), u, o)
	var order []string
	stopped := false
	for _, one := range r.Results {
		if !slices.Contains(order, one.Check) {
			order = append(order, one.Check)
		}
		if (one.ID != "") != (one.Status == doctor.Fault || one.Status == doctor.Warning) || one.Text == "" {
			t.Errorf("got %+v, want an ID for faults and warnings alone, and a text", one)
		}
		if stopped && one.Status != doctor.Skipped && one.Status != doctor.Fault {
			t.Errorf("got %+v after a fault, want nothing checked", one)
		}
		stopped = stopped || one.Status == doctor.Fault && one.Check != "features" && one.Check != "lint"
	}
	if !slices.Equal(order, doctor.Checks()) {
		t.Errorf("got results of %q, want one of each check", order)
	}
	return r
}

// serve starts an HTTP server, and makes it the target.
func serve(t *testing.T, u *host.Upstream, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	u.Target = mcpclient.URL(s.URL + "/mcp")
	return s
}

var configurationFaults = []fault{
	{
		name: "an error", id: doctor.ConfigurationBroken, text: "mcp.json:3:1: found neither", fix: "fondaco config check",
		make: func(_ *testing.T, u *host.Upstream, o *doctor.Options) {
			u.Target = nil
			o.Problems = []doctor.Problem{{Text: "mcp.json:3:1: found neither command nor url", Fatal: true}}
		},
	},
	{
		name: "a member without effect", id: doctor.ConfigurationNote, text: "unknown", fix: "fondaco config check", warning: true,
		make: func(_ *testing.T, u *host.Upstream, o *doctor.Options) {
			u.Target = mcpclient.URL("http://127.0.0.1:1/mcp")
			o.Problems = []doctor.Problem{{Text: "unknown, and has no effect"}}
		},
	},
	{
		name: "an error about a variable", id: doctor.ConfigurationMissing, text: "NOTES_KEY", fix: "export NOTES_KEY=VALUE",
		make: func(_ *testing.T, u *host.Upstream, o *doctor.Options) {
			u.Target = nil
			o.Problems = []doctor.Problem{{Text: "the variable NOTES_KEY is not set", Fatal: true}}
		},
	},
	{
		name: "a header with a variable that is not set", id: doctor.ConfigurationMissing, text: "environment variable NOTES_KEY, which is not set", fix: "export NOTES_KEY=VALUE",
		make: func(_ *testing.T, u *host.Upstream, _ *doctor.Options) {
			u.Target = mcpclient.URL("http://127.0.0.1:1/mcp")
			u.Source = &host.Source{Headers: map[string]host.Text{"Authorization": {
				Written: "Bearer ${env:NOTES_KEY}", References: []host.Reference{{Kind: host.VariableReference, Name: "NOTES_KEY"}},
			}}}
		},
	},
	{
		name: "a file that is not there", id: doctor.ConfigurationFile, text: "that cannot be read: ", fix: "fondaco config check",
		make: func(t *testing.T, u *host.Upstream, _ *doctor.Options) {
			u.Target = mcpclient.URL("http://127.0.0.1:1/mcp")
			u.Source = &host.Source{URL: host.Text{References: []host.Reference{{Kind: host.FileReference, Name: t.TempDir() + "/token"}}}}
		},
	},
	{
		name: "a new server", id: doctor.ApprovalMissing, text: "not approved", fix: "fondaco approve notes",
		make: notAdmitted(&doctor.Admission{}, nil),
	},
	{
		name: "a changed server", id: doctor.ApprovalChanged, text: "changed since you approved it: the command is b, was a", fix: "fondaco approve notes",
		make: notAdmitted(&doctor.Admission{Changes: []string{"the command is b, was a"}}, nil),
	},
	{
		name: "a managed policy", id: doctor.ApprovalDenied, text: "denied by the policy", fix: "fondaco policy explain notes",
		make: notAdmitted(&doctor.Admission{Denied: "denied by the policy"}, nil),
	},
	{
		name: "files that cannot be read", id: doctor.ApprovalFailed, text: "cannot be started: file does not exist", fix: "fondaco approve notes",
		make: notAdmitted(nil, os.ErrNotExist),
	},
}

// notAdmitted makes a server that must not be contacted.
func notAdmitted(a *doctor.Admission, err error) func(*testing.T, *host.Upstream, *doctor.Options) {
	return func(t *testing.T, u *host.Upstream, o *doctor.Options) {
		serve(t, u, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			t.Error("a request was sent to a server that is not approved")
		}))
		u.Target = mcpclient.URL(strings.Replace(u.Target.String(), "127.0.0.1", "localhost", 1))
		o.Lookup = func(context.Context, string) ([]netip.Addr, error) {
			t.Error("the name of a server that is not approved was resolved")
			return nil, os.ErrPermission
		}
		o.Admit = func(context.Context) (*doctor.Admission, error) { return a, err }
	}
}

func TestExaminationEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	u, o := newSubject(t)
	serve(t, u, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }))
	admit := o.Admit
	o.Admit = func(ctx context.Context) (*doctor.Admission, error) {
		defer cancel()
		return admit(ctx)
	}
	r := doctor.Examine(ctx, u, o)
	if last := r.Results[len(r.Results)-1]; len(r.Results) != len(doctor.Checks()) || last.Status != doctor.Skipped || !strings.Contains(last.Text, "context canceled") {
		t.Errorf("got %+v, want the rest skipped", r.Results)
	}
}

func TestTextsAreRedactedAndBounded(t *testing.T) {
	t.Parallel()
	u, o := newSubject(t)
	u.Target = nil
	o.Problems = []doctor.Problem{{Text: "hunter2 " + strings.Repeat("ü", 2000), Fatal: true}}
	o.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "…") }
	o.Command = func(...string) string { return "fondaco hunter2" }
	var heard []doctor.Result
	o.OnResult = func(r doctor.Result) { heard = append(heard, r) }
	r := examine(t, u, o)
	first := r.Results[0]
	if strings.Contains(first.Text+first.Fix, "hunter2") || len(first.Text) > 1<<10 || !strings.HasSuffix(first.Text, "…") {
		t.Errorf("got %d bytes, %q, %q, want no secret and 1 KiB at most", len(first.Text), first.Text, first.Fix)
	}
	if !slices.Equal(heard, r.Results) {
		t.Errorf("got %+v, want each result when it is known", heard)
	}
}
