package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/host/policy"
	"github.com/fondaco/fondaco/host/supervisor"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestMain(m *testing.M) { mcptest.Main(m) }

// running is a host whose file has one name of a server in each line.
type running struct {
	*supervisor.Supervisor
	path    string
	gateway *gateway.Gateway

	mu       sync.Mutex
	admits   map[string]int  // guarded by mu: starts, by server
	revoked  map[string]bool // guarded by mu
	versions supervisor.Versions
	policy   error // guarded by mu: why the policy cannot be read
}

// run starts a host. It must be called in a bubble of synctest.
func run(t *testing.T, names ...string) *running {
	t.Helper()
	r := &running{path: filepath.Join(t.TempDir(), "servers"), admits: make(map[string]int), revoked: make(map[string]bool)}
	r.write(t, names...)
	r.Supervisor = supervisor.New(supervisor.Options{
		Path: r.path, Read: r.read, Decisions: r, Message: func(string, ...any) {},
		ReadPolicy: func() (*policy.Policy, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			return nil, r.policy
		},
	})
	if err := r.Load(); err != nil {
		t.Fatal(err)
	}
	r.gateway = gateway.New(r.Servers(), &gateway.Options{Admit: r.Supervisor.Admit, Logger: slog.New(slog.DiscardHandler)})
	r.SetGateway(r.gateway)
	t.Cleanup(r.gateway.Close)
	r.gateway.Start(t.Context())
	go r.Watch(t.Context(), nil)
	synctest.Wait() // until it watches
	return r
}

func (r *running) write(t *testing.T, names ...string) {
	t.Helper()
	if err := os.WriteFile(r.path, []byte(strings.Join(names, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// read reads the file. The name "wrong" is an error in it.
func (r *running) read(bool) (all []host.Upstream, err error) {
	text, err := os.ReadFile(r.path)
	for name := range strings.FieldsSeq(string(text)) {
		if name == "wrong" {
			return nil, errors.New("wrong")
		}
		all = append(all, host.Upstream{
			Key: name, Target: mcpclient.InProcess(mcpserver.New(name, "1", nil)), Settings: host.Settings{Share: true},
		})
	}
	return all, err
}

// Admit implements supervisor.Decisions.
func (r *running) Admit(_ context.Context, u *host.Upstream) (*host.Upstream, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.revoked[u.Key] {
		return nil, host.ErrNeedsApproval
	}
	r.admits[u.Key]++
	return u, nil
}

// IsRevoked implements supervisor.Decisions.
func (r *running) IsRevoked(_ context.Context, u *host.Upstream) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.revoked[u.Key]
}

// LacksScopes implements supervisor.Decisions.
func (r *running) LacksScopes(context.Context, *host.Upstream) bool { return false }

// Versions implements supervisor.Decisions.
func (r *running) Versions() supervisor.Versions {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.versions
}

// decide makes the approval of a server given or revoked.
func (r *running) decide(name string, revoked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.revoked[name] = revoked
	r.versions.Approvals += "+"
}

// want waits until changes are applied, and compares the servers of the gateway, each with its state.
func (r *running) want(t *testing.T, when string, want ...string) {
	t.Helper()
	time.Sleep(time.Second)
	synctest.Wait()
	var got []string
	for _, s := range r.gateway.Status() {
		got = append(got, fmt.Sprintf("%s %s", s.Key, s.State))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", when, got, want)
	}
}

func TestChangedFileIsApplied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, "one", "two")
		r.want(t, "at first", "one ready", "two ready")
		r.write(t, "two", "three")
		r.want(t, "with another file", "two ready", "three ready")
		r.write(t, "wrong", "four")
		r.want(t, "with an error in the file", "two ready", "three ready")
		r.write(t, "four")
		r.want(t, "without the error", "four ready")
	})
}

func TestNoServerRunsWhileThePolicyCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, "one")
		r.mu.Lock()
		r.policy = errors.New("unreadable")
		r.mu.Unlock()
		if err := r.Reload(); err == nil {
			t.Error("got no error, want that of the policy")
		}
		r.want(t, "without a policy")
		if err := r.Restart("one"); err == nil || errors.Is(err, supervisor.ErrUnknownServer) {
			t.Errorf("got %v, want an error of the policy", err)
		}
		for _, off := range []bool{true, false} {
			if err := r.SetOff("one", off); err != nil {
				t.Fatal(err)
			}
		}
		r.want(t, "switched on without a policy")
		r.mu.Lock()
		r.policy = nil
		r.mu.Unlock()
		if err := r.Reload(); err != nil {
			t.Error(err)
		}
		r.want(t, "with a policy", "one ready")
	})
}

func TestServerThatIsSwitchedOffStaysOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, "one", "two")
		if err := r.SetOff("two", true); err != nil {
			t.Fatal(err)
		}
		r.want(t, "switched off", "one ready")
		r.write(t, "one", "two", "three")
		r.want(t, "after a change of the file", "one ready", "three ready")
		if err := r.SetOff("two", false); err != nil {
			t.Fatal(err)
		}
		r.want(t, "switched on", "one ready", "two ready", "three ready")
		if err := r.SetOff("nine", true); !errors.Is(err, supervisor.ErrUnknownServer) {
			t.Errorf("got %v, want that it is unknown", err)
		}
	})
}

func TestRestartedServerIsAdmittedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, "one", "two")
		if err := r.Restart("one"); err != nil {
			t.Fatal(err)
		}
		r.want(t, "restarted", "one ready", "two ready")
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.admits["one"] != 2 || r.admits["two"] != 1 {
			t.Errorf("got %v, want one admitted twice", r.admits)
		}
	})
}

func TestServerWhoseApprovalIsRevokedStopsUntilItIsApproved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, "one", "two")
		r.decide("one", true)
		r.want(t, "revoked", "one needs approval", "two ready")
		r.decide("one", false)
		r.want(t, "approved", "one ready", "two ready")
	})
}

// What was started last has the values of references, which the configuration of now may no longer have.
func TestPolicyJudgesTheServerAsItIsConfiguredNow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(path, []byte(`{"servers":{"deny":[{"url":"https://denied.test/*"}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(path); dir != filepath.Clean(os.TempDir()) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o700); err != nil { // the policy is refused if others can replace it
			t.Fatal(err)
		}
	}
	denies, err := policy.Place{Path: path, Owner: os.Getuid()}.Load()
	if err != nil {
		t.Fatal(err)
	}
	server := func(url string) host.Upstream {
		return host.Upstream{Key: "one", Target: mcpclient.URL(url), Settings: host.Settings{Lazy: true}}
	}
	configured, current := server("https://reference.test"), (*policy.Policy)(nil)
	s := supervisor.New(supervisor.Options{
		Path: "servers", Decisions: resolving{server("https://denied.test/mcp")}, Message: t.Logf,
		Read:       func(bool) ([]host.Upstream, error) { return []host.Upstream{configured}, nil },
		ReadPolicy: func() (*policy.Policy, error) { return current, nil },
	})
	if err := s.Load(); err != nil {
		t.Fatal(err)
	}
	g := gateway.New(s.Servers(), &gateway.Options{Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(g.Close)
	s.SetGateway(g)
	if _, err := s.Admit(t.Context(), &configured); err != nil {
		t.Fatal(err)
	}
	reload := func(when string, want int) {
		if err := s.Reload(); err != nil || len(s.Servers()) != want {
			t.Errorf("%s: got %d servers, %v, want %d", when, len(s.Servers()), err, want)
		}
	}
	current = denies
	reload("what was started is denied", 0)
	configured.Settings.Share = true
	reload("with other settings", 0)
	configured = server("https://allowed.test")
	reload("with another address", 1)
}

// resolving are decisions that allow each server, as it is with the values of its references.
type resolving struct{ started host.Upstream }

func (r resolving) Admit(context.Context, *host.Upstream) (*host.Upstream, error) {
	return &r.started, nil
}
func (resolving) IsRevoked(context.Context, *host.Upstream) bool   { return false }
func (resolving) LacksScopes(context.Context, *host.Upstream) bool { return false }
func (resolving) Versions() supervisor.Versions                    { return supervisor.Versions{} }
