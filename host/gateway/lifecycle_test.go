package gateway_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// failingTarget is a server whose connections can be cut, and that can be down.
type failingTarget struct {
	server *mcpserver.Server

	mu     sync.Mutex
	starts []time.Time
	down   bool
	conns  []mcp.Conn
}

func (f *failingTarget) Serve(ctx context.Context, conn mcp.Conn) error {
	f.mu.Lock()
	f.starts = append(f.starts, time.Now())
	f.conns = append(f.conns, conn)
	down := f.down
	f.mu.Unlock()
	if down {
		return io.ErrUnexpectedEOF
	}
	return f.server.Serve(ctx, conn)
}

// cut ends the connections, and refuses new ones if down is set.
func (f *failingTarget) cut(down bool) {
	f.mu.Lock()
	conns := f.conns
	f.conns, f.down = nil, down
	f.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
}

func (f *failingTarget) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.starts)
}

func TestLostUpstreamReconnects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer("a")
		srv.Tool("greet", "Greet", greet)
		f := &failingTarget{server: srv}
		g, c := open(t, nil, host.Upstream{Key: "a", Target: mcpclient.InProcess(f), Settings: host.Settings{Share: true}})
		f.cut(false)
		synctest.Wait()
		if s := g.Status()[0]; s.State != host.Failed || strings.Count(s.Reason, "connection lost") != 1 || s.Retry.IsZero() {
			t.Errorf("got %+v, want it failed, with the reason and the time of the next attempt", s)
		}
		if got, err := c.Call[string](t.Context(), "a__greet", greeting{"Ada"}); got != "Hello Ada" || err != nil {
			t.Errorf("got %q, %v, want the call to wait for the new connection", got, err)
		}
		if s := g.Status()[0]; s.State != host.Ready || s.Reason != "" {
			t.Errorf("got %+v, want it ready", s)
		}
	})
}

// An upstream that crashes repeatedly is started at most eight times within five minutes.
// Its tools leave the list and come back with it.
func TestCrashingUpstreamIsSuspendedAndItsRecoveryAnnounced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		good, bad := newServer("good"), newServer("bad")
		good.Tool("greet", "Greet", greet)
		bad.Tool("greet", "Greet", greet)
		f := &failingTarget{server: bad}
		changed := make(chan struct{}, 10)
		g, c := open(t, &mcpclient.Options{OnToolsChanged: func(context.Context, *mcpclient.Client) { changed <- struct{}{} }},
			host.Upstream{Key: "bad", Target: mcpclient.InProcess(f), Settings: host.Settings{Share: true}}, upstream("good", good))
		f.cut(true)
		time.Sleep(30 * time.Second)
		<-changed
		if s := g.Status()[0]; s.State != host.Suspended {
			t.Errorf("got %+v, want it suspended", s)
		}
		if got := toolNames(t, c); !slices.Equal(got, []string{"good__greet"}) {
			t.Errorf("got %v, want the others alone", got)
		}
		begun := time.Now()
		if _, err := c.Call[string](t.Context(), "good__greet", greeting{"Ada"}); err != nil || time.Since(begun) > time.Second {
			t.Errorf("got %v after %v, want the others to work as ever", err, time.Since(begun))
		}
		time.Sleep(4*time.Minute + 30*time.Second)
		// The client starts a server that exits at the first message once more, without
		// server/discover: two starts are one attempt.
		if n := f.count(); n > 2*8 {
			t.Errorf("got %d starts within five minutes, want at most 8 attempts", n)
		}
		f.cut(false)
		time.Sleep(2 * time.Minute)
		<-changed
		if got := toolNames(t, c); !slices.Equal(got, []string{"bad__greet", "good__greet"}) || g.Status()[0].State != host.Ready {
			t.Errorf("got %v, %+v, want it back", got, g.Status()[0])
		}
	})
}

func TestCallsToASuspendedUpstreamFailAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer("a")
		srv.Tool("greet", "Greet", greet)
		f := &failingTarget{server: srv}
		_, c := open(t, nil, host.Upstream{Key: "a", Target: mcpclient.InProcess(f)})
		if _, err := c.Call[string](t.Context(), "a__greet", greeting{"Ada"}); err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		own := f.conns[1] // the caller's
		f.down = true
		f.mu.Unlock()
		_ = own.Close()
		var last error
		for range 20 {
			begun := time.Now()
			_, last = c.Call[string](t.Context(), "a__greet", greeting{"Ada"})
			time.Sleep(5 * time.Second)
			if took := time.Since(begun); last == nil || took > 16*time.Second {
				t.Fatalf("got %v after %v, want failure within the patience", last, took)
			}
		}
		if !strings.Contains(last.Error(), `upstream "a": suspended: `) {
			t.Errorf("got %v, want the reason", last)
		}
		if n := f.count(); n > 2+2*6 {
			t.Errorf("got %d starts, want few however often the caller calls", n)
		}
	})
}

func TestLazyUpstreamStartsWhenItIsNeeded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &sessionTarget{revision: mcp.V20251125, make: recordingServer}
		g, c := open(t, nil, host.Upstream{Key: "d", Target: mcpclient.InProcess(f), Settings: host.Settings{Share: true, Lazy: true, Idle: time.Minute}})
		if served, _ := f.counts(); served != 0 || g.Status()[0].State != host.Idle {
			t.Errorf("got %d connections, %+v, want none before anybody asks", served, g.Status()[0])
		}
		if got := toolNames(t, c); !slices.Equal(got, []string{"d__write"}) {
			t.Errorf("got %v, want the first list to start it", got)
		}
		time.Sleep(3 * time.Minute)
		if _, live := f.counts(); live != 0 || g.Status()[0].State != host.Idle {
			t.Errorf("got %d connections, %+v, want it stopped when unused", live, g.Status()[0])
		}
		if got := toolNames(t, c); !slices.Equal(got, []string{"d__write"}) {
			t.Errorf("got %v, want what it has known without it", got)
		}
		if _, live := f.counts(); live != 0 {
			t.Errorf("got %d connections, want a list not to start it again", live)
		}
		if _, err := c.CallTool(t.Context(), "d__write", map[string]string{"word": "x"}); err != nil {
			t.Errorf("got %v, want a call to start it again", err)
		}
		if served, live := f.counts(); served != 2 || live != 1 {
			t.Errorf("got %d connections, %d live, want the second", served, live)
		}
		time.Sleep(time.Hour)
		if served, live := f.counts(); served != 2 || live != 0 {
			t.Errorf("got %d connections, %d live, want it stopped and not started again", served, live)
		}
	})
}

// A client that connects while the upstreams start gets a first list that waits for the
// slowest one, up to the start timeout.
func TestFirstListWaitsForTheSlowestWithinABound(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]time.Duration{"in time": 3 * time.Second, "too slow": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				late, good := newServer("late"), newServer("good")
				late.Tool("greet", "Greet", greet)
				good.Tool("greet", "Greet", greet)
				tardy := host.Upstream{Key: "late", Target: mcpclient.Dial(func(ctx context.Context) (mcp.Conn, error) {
					select {
					case <-time.After(slow):
						return mcptest.Dial(t, late), nil
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				})}
				g := gateway.New([]host.Upstream{tardy, upstream("good", good)}, &gateway.Options{Logger: quiet})
				defer g.Close()
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					g.Start(t.Context())
				}()
				synctest.Wait()
				begun := time.Now()
				c := mcptest.Connect(t, g.Server(), &mcpclient.Options{Logger: quiet})
				defer c.Close()
				want, bound := []string{"good__greet", "late__greet"}, slow
				if slow == time.Hour {
					want, bound = want[:1], 10*time.Second
				}
				if got := toolNames(t, c); !slices.Equal(got, want) || time.Since(begun) != bound {
					t.Errorf("got %v after %v, want %v after %v", got, time.Since(begun), want, bound)
				}
				begun = time.Now()
				if toolNames(t, c); time.Since(begun) != 0 {
					t.Errorf("got the second list after %v, want it at once", time.Since(begun))
				}
				<-ended
			})
		})
	}
}

func TestListsHaveNoCachingTime(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-413")
	srv := newServer("good")
	srv.Tool("greet", "Greet", greet)
	_, c := open(t, nil, refusing("broken"), upstream("good", srv))
	var list mcp.ListToolsResult
	if err := c.Request(t.Context(), mcp.MethodToolsList, nil, &list); err != nil {
		t.Fatal(err)
	}
	if list.TTLMs == nil || *list.TTLMs != 0 || list.CacheScope != mcp.CachePrivate || len(list.Tools) != 1 {
		t.Errorf("got %+v, want a list that is complete no longer than now", list)
	}
}

func TestReloadTouchesOnlyWhatHasChanged(t *testing.T) {
	t.Parallel()
	of := func(key, word string) host.Upstream {
		srv := recordingServer(&mcpserver.Options{Revisions: []mcp.Revision{mcp.V20251125}, Logger: quiet})
		web := httptest.NewServer(srv.HTTPHandler())
		t.Cleanup(func() {
			_ = srv.Shutdown(context.Background())
			web.Close()
		})
		return host.Upstream{Key: key, Target: mcpclient.URL(web.URL), Header: http.Header{"X-Word": {word}}, Settings: host.Settings{Share: true}}
	}
	gone, kept, fresh := of("gone", "x"), of("kept", "x"), of("fresh", "x")
	g, c := open(t, nil, gone, kept)
	if _, err := c.CallTool(t.Context(), "kept__write", map[string]string{"word": "before"}); err != nil {
		t.Fatal(err)
	}
	again := kept
	again.Header = kept.Header.Clone()
	g.Reload([]host.Upstream{again, fresh})
	if got := toolNames(t, c); !slices.Equal(got, []string{"fresh__write", "kept__write"}) {
		t.Errorf("got %v, want the new one in place of the old one", got)
	}
	result, err := c.CallTool(t.Context(), "kept__write", map[string]string{"word": "after"})
	if err != nil || result.Content.Text() != "before after" {
		t.Errorf("got %+v, %v, want what runs to go on", result, err)
	}
	g.Reload(nil)
	if got := toolNames(t, c); len(got) != 0 || len(g.Status()) != 0 {
		t.Errorf("got %v, want nothing left", got)
	}
}

func TestRemovedUpstreamReportsNoChangeOfState(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var told []string
	reported := make(chan struct{}, 16)
	g := gateway.New([]host.Upstream{upstream("a", newServer("a")), upstream("b", newServer("b"))}, &gateway.Options{Logger: quiet, OnStatus: func(s host.Status) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, s.Key+" "+string(s.State))
		reported <- struct{}{}
	}})
	g.Start(t.Context())
	for range 2 { // Start waits for the states, not for the reports
		<-reported
	}
	g.Reload(nil)
	g.Close()
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(told)
	if want := []string{"a ready", "b ready"}; !slices.Equal(told, want) {
		t.Errorf("got %q, want %q alone", told, want)
	}
}

func TestUpstreamThatIsNotApprovedWaitsForRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer("a")
		srv.Tool("greet", "Greet", greet)
		u := upstream("a", srv)
		var mu sync.Mutex
		approved := false
		g := gateway.New([]host.Upstream{u}, &gateway.Options{
			Logger: quiet,
			Admit: func(_ context.Context, u *host.Upstream) (*host.Upstream, error) {
				mu.Lock()
				defer mu.Unlock()
				if !approved {
					return nil, errors.Join(host.ErrNeedsApproval, errors.New("npx something"))
				}
				return u, nil
			},
		})
		defer g.Close()
		g.Start(t.Context())
		time.Sleep(time.Hour)
		if s := g.Status()[0]; s.State != host.NeedsApproval || !strings.Contains(s.Reason, "npx something") {
			t.Errorf("got %+v, want it to need approval", s)
		}
		mu.Lock()
		approved = true
		mu.Unlock()
		if !g.Retry("a") || g.Retry("b") {
			t.Error("want to hear whether there is one")
		}
		c := mcptest.Connect(t, g.Server(), &mcpclient.Options{Logger: quiet})
		synctest.Wait()
		if got := toolNames(t, c); !slices.Equal(got, []string{"a__greet"}) {
			t.Errorf("got %v, want it started once it is approved", got)
		}
	})
}

// A client over stdio connects before the host has started.
func TestListsWaitForAStartThatComesLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer("a")
		srv.Tool("greet", "Greet", greet)
		g := gateway.New([]host.Upstream{upstream("a", srv)}, &gateway.Options{Logger: quiet})
		defer g.Close()
		c := mcptest.Connect(t, g.Server(), &mcpclient.Options{Logger: quiet})
		go func() {
			time.Sleep(time.Second)
			g.Start(context.Background())
		}()
		if got := toolNames(t, c); !slices.Equal(got, []string{"a__greet"}) {
			t.Errorf("got %v, want the list to wait", got)
		}
	})
}
