package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// authorizingServer is a server over HTTP that requires the current token, and the
// Authorizer of its clients.
type authorizingServer struct {
	mu   sync.Mutex
	word string // that the server requires
	have string // that the user has
	// turned, if not nil, delays refusals until it receives. Waits gets each that waits for it.
	turned, waits chan struct{}
}

func (g *authorizingServer) set(word, have string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.word, g.have = word, have
}

func (g *authorizingServer) Authorize(r *http.Request) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.have != "" {
		r.Header.Set("Authorization", "Bearer "+g.have)
	}
	return nil
}

func (g *authorizingServer) Challenged(*http.Request, *http.Response) error {
	return fmt.Errorf("%w at https://id.example.com", mcpauth.ErrSignInRequired)
}

func (g *authorizingServer) serve(t *testing.T, h http.Handler) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		open := r.Header.Get("Authorization") == "Bearer "+g.word
		turned, waits := g.turned, g.waits
		g.mu.Unlock()
		if !open {
			if turned != nil {
				select {
				case <-turned:
				default:
					waits <- struct{}{}
					<-turned
				}
			}
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// awaitState waits until the upstream is in a state. Attempts to start are not announced, so it
// looks again from time to time.
func awaitState(t *testing.T, g *gateway.Gateway, states <-chan host.Status, want host.State) host.Status {
	t.Helper()
	timer := time.After(testTimeout)
	for {
		if s := g.Status()[0]; s.State == want {
			return s
		}
		select {
		case <-states:
		case <-time.After(10 * time.Millisecond):
		case <-timer:
			t.Fatalf("got %+v, want %s", g.Status()[0], want)
		}
	}
}

func TestUpstreamThatWantsASignInWaitsForIt(t *testing.T) {
	t.Parallel()
	srv := newServer("locked")
	srv.Tool("hello", "Say hello", func(context.Context, struct{}) (string, error) { return "hello", nil })
	door := &authorizingServer{word: "one"}
	u := host.Upstream{Key: "locked", Transport: "over HTTP", Target: mcpclient.URL(door.serve(t, srv.HTTPHandler()))}
	states := make(chan host.Status, 100)
	g := gateway.New([]host.Upstream{u}, &gateway.Options{
		Logger: quiet, OnStatus: func(s host.Status) { states <- s },
		Auth: func(*host.Upstream) mcpclient.Authorizer { return door },
	})
	t.Cleanup(g.Close)
	g.Start(t.Context())
	if s := awaitState(t, g, states, host.NeedsSignIn); !strings.Contains(s.Reason, "sign-in required") || !s.Retry.IsZero() {
		t.Errorf("got %+v, want a rest until the user signs in", s)
	}

	c, err := mcpclient.Connect(t.Context(), mcpclient.Conn(mcptest.Dial(t, g.Server())), &mcpclient.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	call := func() (*mcp.CallToolResult, error) { return c.CallTool(t.Context(), "locked__hello", nil) }
	if _, err := call(); err == nil {
		t.Error("a tool was called of which nothing can be known")
	}

	door.set("one", "one")
	g.Retry("locked")
	awaitState(t, g, states, host.Ready)
	if result, err := call(); err != nil || result.IsError {
		t.Fatalf("got %+v, %v once somebody has signed in", result, err)
	}

	// The token becomes invalid: the call fails with the command to sign in, and the
	// upstream waits.
	door.set("two", "one")
	result, err := call()
	if err != nil || !result.IsError || !strings.Contains(result.Content.Text(), "fondaco auth login locked") {
		t.Errorf("got %+v, %v, want the next step", result, err)
	}
	var why string
	if _, err := result.Meta.Get(host.MetaRefused, &why); err != nil || why != host.RefusedSignIn {
		t.Errorf("got %q, %v, want %q for programs", why, err, host.RefusedSignIn)
	}
	awaitState(t, g, states, host.NeedsSignIn)

	// The session of the caller continues, too.
	door.set("two", "two")
	g.Retry("locked")
	awaitState(t, g, states, host.Ready)
	for deadline := time.Now().Add(testTimeout); ; {
		result, err := call()
		if err == nil && !result.IsError {
			break
		}
		if time.Now().After(deadline) || errors.Is(err, context.Canceled) {
			t.Fatalf("got %+v, %v after another sign-in", result, err)
		}
	}
}

func TestSignInCountsForAConnectionThatIsBeingRefused(t *testing.T) {
	t.Parallel()
	srv := newServer("locked")
	srv.Tool("hello", "Say hello", func(context.Context, struct{}) (string, error) { return "hello", nil })
	door := &authorizingServer{word: "one", have: "one"}
	u := host.Upstream{Key: "locked", Transport: "over HTTP", Target: mcpclient.URL(door.serve(t, srv.HTTPHandler()))}
	states := make(chan host.Status, 100)
	g := gateway.New([]host.Upstream{u}, &gateway.Options{
		Logger: quiet, OnStatus: func(s host.Status) { states <- s },
		Auth: func(*host.Upstream) mcpclient.Authorizer { return door },
	})
	t.Cleanup(g.Close)
	g.Start(t.Context())
	awaitState(t, g, states, host.Ready)
	c, err := mcpclient.Connect(t.Context(), mcpclient.Conn(mcptest.Dial(t, g.Server())), &mcpclient.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if result, err := c.CallTool(t.Context(), "locked__hello", nil); err != nil || result.IsError {
		t.Fatalf("got %+v, %v", result, err)
	}

	// The call is refused at once, and so is the check of the connection. The check has
	// not ended when the user has signed in again.
	turned, waits := make(chan struct{}, 1), make(chan struct{}, 100)
	turned <- struct{}{}
	door.mu.Lock()
	door.word, door.turned, door.waits = "two", turned, waits
	door.mu.Unlock()
	if result, err := c.CallTool(t.Context(), "locked__hello", nil); err != nil || !result.IsError {
		t.Fatalf("got %+v, %v, want to be turned away", result, err)
	}
	<-waits
	door.set("two", "two")
	g.Retry("locked")
	close(turned)
	awaitState(t, g, states, host.Ready)
	// A connection may learn only now that it was refused, and be made again later.
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(5 * time.Millisecond) {
		result, err := c.CallTool(t.Context(), "locked__hello", nil)
		if err == nil && !result.IsError {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %+v, %v, want the sign-in to count for every connection", result, err)
		}
	}
}

// scopedServer is a server over HTTP at which one tool needs a scope that the token lacks until it is granted.
type scopedServer struct {
	granted atomic.Bool
	missing []string
}

func (*scopedServer) Authorize(*http.Request) error { return nil }

func (s *scopedServer) Challenged(*http.Request, *http.Response) error {
	return &mcpauth.SignInError{Server: "https://a.example", Err: mcpauth.ErrSignInRequired, MissingScopes: s.missing}
}

func (s *scopedServer) serve(t *testing.T, h http.Handler) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || bytes.Contains(body, []byte(`"name":"export"`)) && !s.granted.Load() {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return web.URL
}

func TestScopeThatOneCallLacksIsShownWhileOthersGoOn(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "E-10")
	srv := newServer("scoped")
	for _, name := range []string{"export", "hello"} {
		srv.Tool(name, "", func(context.Context, struct{}) (string, error) { return name, nil })
	}
	door := &scopedServer{missing: []string{"export"}}
	u := host.Upstream{Key: "scoped", Transport: "over HTTP", Target: mcpclient.URL(door.serve(t, srv.HTTPHandler()))}
	states := make(chan host.Status, 100)
	g := gateway.New([]host.Upstream{u}, &gateway.Options{
		Logger: quiet, OnStatus: func(s host.Status) { states <- s },
		Auth: func(*host.Upstream) mcpclient.Authorizer { return door },
	})
	t.Cleanup(g.Close)
	g.Start(t.Context())
	awaitState(t, g, states, host.Ready)
	c, err := mcpclient.Connect(t.Context(), mcpclient.Conn(mcptest.Dial(t, g.Server())), &mcpclient.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	call := func(tool, want string, isError bool) {
		t.Helper()
		if result, err := c.CallTool(t.Context(), "scoped__"+tool, nil); err != nil || result.IsError != isError || !strings.Contains(result.Content.Text(), want) {
			t.Errorf("%s: got %+v, %v, want %s", tool, result, err, want)
		}
	}
	reported := func(want ...string) {
		t.Helper()
		for timer := time.After(testTimeout); ; {
			select {
			case s := <-states:
				if !slices.Equal(s.MissingScopes, want) {
					continue
				}
				if s.State != host.Ready || s.WaitsForSignIn() != (len(want) > 0) {
					t.Errorf("got %+v, want it ready", s)
				}
				return
			case <-timer:
				t.Fatalf("got no status with the scopes %q", want)
			}
		}
	}
	for range 2 {
		call("export", "fondaco auth login scoped", true)
	}
	reported("export")
	call("hello", "hello", false)
	if s := g.Status()[0]; s.State != host.Ready || !slices.Equal(s.MissingScopes, []string{"export"}) {
		t.Errorf("got %+v, want the scope until a sign-in has requested it", s)
	}
	door.granted.Store(true)
	g.ClearMissingScopes("scoped")
	reported()
	call("export", "export", false)
}

func TestScopeThatACallOfAnEarlierHostHasLackedIsShown(t *testing.T) {
	t.Parallel()
	srv := newServer("scoped")
	srv.Tool("hello", "", func(context.Context, struct{}) (string, error) { return "hello", nil })
	u := host.Upstream{Key: "scoped", Transport: "over HTTP", Target: mcpclient.URL(new(scopedServer).serve(t, srv.HTTPHandler()))}
	states := make(chan host.Status, 100)
	g := gateway.New([]host.Upstream{u}, &gateway.Options{
		Logger: quiet, OnStatus: func(s host.Status) { states <- s },
		MissingScopes: func(_ context.Context, u *host.Upstream) ([]string, error) {
			return []string{"export of " + u.Key}, nil
		},
	})
	t.Cleanup(g.Close)
	g.Start(t.Context())
	awaitState(t, g, states, host.Ready)
	if s := g.Status()[0]; !s.WaitsForSignIn() || !slices.Equal(s.MissingScopes, []string{"export of scoped"}) {
		t.Errorf("got %+v, want the scope that the store has", s)
	}
	g.ClearMissingScopes("scoped")
	if s := g.Status()[0]; s.WaitsForSignIn() {
		t.Errorf("got %+v, want no scope after a sign-in", s)
	}
}

func TestScopesOfAStatusAreBounded(t *testing.T) {
	t.Parallel()
	srv := newServer("greedy")
	srv.Tool("export", "", func(context.Context, struct{}) (string, error) { return "", nil })
	door := new(scopedServer)
	for i := range 2 * host.MaxMissingScopes {
		door.missing = append(door.missing, fmt.Sprint("scope-", i))
	}
	u := host.Upstream{Key: "greedy", Transport: "over HTTP", Target: mcpclient.URL(door.serve(t, srv.HTTPHandler()))}
	g := gateway.New([]host.Upstream{u}, &gateway.Options{Logger: quiet, Auth: func(*host.Upstream) mcpclient.Authorizer { return door }})
	t.Cleanup(g.Close)
	g.Start(t.Context())
	c, err := mcpclient.Connect(t.Context(), mcpclient.Conn(mcptest.Dial(t, g.Server())), &mcpclient.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if result, err := c.CallTool(t.Context(), "greedy__export", nil); err != nil || !result.IsError {
		t.Errorf("got %+v, %v, want it refused", result, err)
	}
	if got := g.Status()[0].MissingScopes; len(got) != host.MaxMissingScopes {
		t.Errorf("got %d scopes, want %d", len(got), host.MaxMissingScopes)
	}
}
