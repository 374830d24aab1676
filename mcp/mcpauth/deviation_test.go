package mcpauth_test

import (
	"errors"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpauth"
)

// deviation is one way in which authorization servers deviate from the standards, or in which
// servers describe theirs. docs/compatibility.md has a line of the same name for each.
type deviation struct {
	name string
	// is sets the switches of the stand-in, and what its client is configured with.
	is func(h *hostile)
	// then, if not nil, is what changes after the first call, before a second one in a later run.
	then func(h *hostile)
	// want is what the error says; empty: the user is signed in, and the call succeeds.
	want string
	// cause is what the error is, if there is one to ask for.
	cause error
	// sent are requests that were sent in this order, others may be between them; once are
	// requests that were sent once, and never those that were not sent.
	sent, once, never []string
}

// expire ends all access tokens, so that the second call has to renew its own.
func expire(h *hostile) { h.kill(false) }

// spell makes the metadata of the issuer name it in its other spelling.
func spell(h *hostile) {
	h.kill(false)
	h.serverMetadata()["issuer"] = h.issuer.URL + "/"
}

// deviations are the rows of the table.
var deviations = []deviation{
	{
		name: "issuer-slash-metadata",
		is:   func(h *hostile) { h.serverMetadata()["issuer"] = h.issuer.URL + "/" },
		then: expire,
		sent: []string{"AS POST /register", "AS POST /token", "AS POST /token"},
		once: []string{"AS POST /register", "AS GET /authorize"},
	},
	{
		name: "issuer-slash-resource",
		is:   func(h *hostile) { h.resource["/prm"]["authorization_servers"] = []string{h.issuer.URL + "/"} },
		then: expire,
		sent: []string{"AS POST /register", "AS POST /token", "AS POST /token"},
		once: []string{"AS POST /register", "AS GET /authorize"},
	},
	{
		name: "issuer-slash-later",
		is:   func(*hostile) {},
		then: spell,
		sent: []string{"AS POST /register", "AS POST /token", "AS POST /token"},
		once: []string{"AS POST /register", "AS GET /authorize"},
	},
	{
		name: "issuer-slash-later-refused",
		is:   func(*hostile) {},
		then: func(h *hostile) {
			h.kill(true)
			h.serverMetadata()["issuer"] = h.issuer.URL + "/"
			h.options.RedirectURL = h.asked[0].Get("redirect_uri") // the port and path of the registration
		},
		sent: []string{"AS GET /authorize", "AS POST /token", "AS GET /authorize", "AS POST /token"},
		once: []string{"AS POST /register"},
	},
	{
		name: "issuer-slash-response",
		is:   func(h *hostile) { h.respond = func(response url.Values) { response["iss"][0] += "/" } },
		sent: []string{"AS GET /authorize", "AS POST /token"},
	},
	{
		name: "issuer-slash-configured",
		is: func(h *hostile) {
			h.options.Registered = []mcpauth.Registration{{Issuer: h.issuer.URL + "/", ID: "by-hand", Secret: "CANARY-secret"}}
		},
		then:  spell,
		sent:  []string{"AS POST /token", "AS POST /token"},
		once:  []string{"AS GET /authorize"},
		never: []string{"AS POST /register"},
	},
	{
		name: "issuer-slash-machine",
		is: func(h *hostile) {
			h.options.Grant = &mcpauth.ClientCredentials{Issuer: h.issuer.URL + "/", ID: "robot", Secret: "CANARY-secret"}
		},
		then:  spell,
		sent:  []string{"AS POST /token", "AS POST /token"},
		never: []string{"AS GET /authorize"},
	},
	{
		name: "issuer-slash-of-path",
		is: func(h *hostile) {
			h.metadata = map[string]members{serverPlace + "/t": with(h.issuerMetadata("/t"), members{"issuer": h.issuer.URL + "/t/"})}
			h.resource["/prm"]["authorization_servers"] = []string{h.issuer.URL + "/t"}
		},
		want:  `/t/", want "`,
		never: []string{"AS POST /t/register", "AS GET /t/authorize"},
	},
	{
		name: "issuer-other-in-response",
		is: func(h *hostile) {
			h.respond = func(response url.Values) { response.Set("iss", "https://sts.example/t/") }
		},
		want:  `it names another issuer: found "https://sts.example/t/", want "`,
		never: []string{"AS POST /token"},
	},
}

func TestDeviationsOfAuthorizationServers(t *testing.T) {
	t.Parallel()
	for _, row := range deviations {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h := newHostile(t)
			h.options.Store = mcpauth.MemoryStore()
			row.is(h)
			err := h.calls()
			if row.then != nil {
				row.then(h)
				h.client = nil // a later run has nothing but what was stored
				err = h.calls()
			}
			row.judge(t, h, err)
			h.secretsStay()
		})
	}
}

// judge compares what has happened with the row.
func (row *deviation) judge(t *testing.T, h *hostile, err error) {
	t.Helper()
	log := strings.Split(h.took(), "\n")
	switch {
	case row.want == "" && err != nil:
		t.Errorf("got %v\n%s", err, strings.Join(log, "\n"))
	case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
		t.Errorf("got %v, want an error that says %q", err, row.want)
	case row.cause != nil && !errors.Is(err, row.cause):
		t.Errorf("got %v, want %v", err, row.cause)
	}
	rest := log
	for _, want := range row.sent {
		i := slices.Index(rest, want)
		if i < 0 {
			t.Fatalf("got\n%s\nwant in it, in this order\n%s", strings.Join(log, "\n"), strings.Join(row.sent, "\n"))
		}
		rest = rest[i+1:]
	}
	for _, one := range row.once {
		if n := len(slices.DeleteFunc(slices.Clone(log), func(s string) bool { return s != one })); n != 1 {
			t.Errorf("got\n%s\nwant %s once", strings.Join(log, "\n"), one)
		}
	}
	for _, bad := range row.never {
		if slices.Contains(log, bad) {
			t.Errorf("got\n%s\nwant without %s", strings.Join(log, "\n"), bad)
		}
	}
}

func TestPageDescribesEveryDeviationOfAuthorizationServers(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Authorization servers\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var described []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)` \\| .* \\| (accepted|refused) \\|").FindAllStringSubmatch(section, -1) {
		described = append(described, m[1]+" "+m[2])
	}
	var tested []string
	for _, row := range deviations {
		outcome := "accepted"
		if row.want != "" {
			outcome = "refused"
		}
		tested = append(tested, row.name+" "+outcome)
	}
	if !slices.Equal(described, tested) {
		t.Errorf("docs/compatibility.md describes\n%s\nwant\n%s", strings.Join(described, "\n"), strings.Join(tested, "\n"))
	}
}
