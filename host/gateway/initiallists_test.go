package gateway_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// addedTools filters nothing, and remembers which tools of the last list for all clients were added
// while the upstream ran.
type addedTools struct {
	mu     sync.Mutex
	names  string
	counts chan struct{}
}

func (a *addedTools) filter(_ context.Context, _ *host.Upstream, l host.Listing) (host.Admitted, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !l.Session && l.Capabilities == "" {
		var names []string
		for _, t := range l.Tools {
			if l.Added(host.KindTool, t.Name) {
				names = append(names, t.Name)
			}
		}
		a.names = strings.Join(names, " ")
		a.counts <- struct{}{}
	}
	return host.Admitted{Surface: l.Surface}, nil
}

// want waits for the next list, and compares what was added.
func (a *addedTools) want(t *testing.T, when, want string) {
	t.Helper()
	<-a.counts
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.names != want {
		t.Errorf("%s: got %q added, want %q", when, a.names, want)
	}
}

func TestWhatAProgramListsWhenItStartsWasNotAddedWhileItRan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := mcpserver.New("d", "1", &mcpserver.Options{Logger: quiet, Dynamic: true})
		srv.Tool("first", "First", greet)
		f, added := &failingTarget{server: srv}, &addedTools{counts: make(chan struct{}, 10)}
		g := startWith(t, &gateway.Options{FilterDefinitions: added.filter}, host.Upstream{
			Key: "d", Target: mcpclient.InProcess(f), Settings: host.Settings{Share: true, Idle: time.Hour},
		})
		added.want(t, "started", "")
		srv.Tool("late", "Late", greet)
		added.want(t, "running", "late")
		g.Retry("d") // as after an approval
		added.want(t, "filtered again", "late")
		f.cut(false)
		added.want(t, "restarted", "")
		srv.Tool("later", "Later", greet)
		added.want(t, "running again", "later")
		time.Sleep(2 * time.Hour)
		c := newListingClient(t, g.Server(), mcpclient.Options{})
		if got, err := c.Call[string](t.Context(), "d__first", greeting{"Ada"}); got != "Hello Ada" || err != nil {
			t.Errorf("got %q, %v, want a greeting", got, err)
		}
		added.want(t, "started again for a call", "")
	})
}

// A remote server that has forgotten the session has started anew.
func TestWhatARemoteServerListsInANewSessionWasNotAddedWhileItRan(t *testing.T) {
	t.Parallel()
	var servers []*mcpserver.Server
	serve := func(tools ...string) http.Handler {
		srv := mcpserver.New("d", "1", &mcpserver.Options{Logger: quiet, Dynamic: true, Revisions: []mcp.Revision{mcp.V20251125}})
		for _, name := range tools {
			srv.Tool(name, name, greet)
		}
		t.Cleanup(func() { _ = srv.Shutdown(context.Background()) })
		servers = append(servers, srv)
		return srv.HTTPHandler()
	}
	var current atomic.Pointer[http.Handler]
	first := serve("first")
	current.Store(&first)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*current.Load()).ServeHTTP(w, r) }))
	t.Cleanup(web.Close)
	added := &addedTools{counts: make(chan struct{}, 10)}
	g := startWith(t, &gateway.Options{FilterDefinitions: added.filter}, host.Upstream{Key: "d", Target: mcpclient.URL(web.URL), Settings: host.Settings{Share: true}})
	t.Cleanup(g.Close)
	added.want(t, "started", "")
	servers[0].Tool("late", "Late", greet)
	added.want(t, "running", "late")
	second := serve("first", "late", "other")
	current.Store(&second)
	c := newListingClient(t, g.Server(), mcpclient.Options{})
	if got, err := c.Call[string](t.Context(), "d__first", greeting{"Ada"}); got != "Hello Ada" || err != nil { // in a new session
		t.Errorf("got %q, %v, want a greeting", got, err)
	}
	added.want(t, "restarted", "")
}
