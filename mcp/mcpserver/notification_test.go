package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const acmeNote = "notifications/acme/note"

// noteTransport is one way to a server, and the revision that is spoken on it.
type noteTransport struct {
	name     string
	revision mcp.Revision
	target   func(t *testing.T, srv *mcpserver.Server) mcpclient.Target
}

var noteTransports = []noteTransport{
	{"memory, session era", mcp.V20251125, inMemory},
	{"memory, stateless era", mcp.V20260728, inMemory},
	{"stream", mcp.V20250618, overStream},
	{"HTTP session", mcp.V20251125, overHTTP},
	{"HTTP stateless", mcp.V20260728, overHTTP},
	{"HTTP+SSE", mcp.V20241105, overEventStream},
}

func inMemory(_ *testing.T, srv *mcpserver.Server) mcpclient.Target { return mcpclient.InProcess(srv) }

func overStream(t *testing.T, srv *mcpserver.Server) mcpclient.Target {
	ours, theirs := net.Pipe()
	var served sync.WaitGroup
	served.Go(func() { _ = srv.ServeStream(context.Background(), theirs) })
	t.Cleanup(served.Wait)
	return mcpclient.Stream(ours)
}

func overHTTP(t *testing.T, srv *mcpserver.Server) mcpclient.Target {
	return mcpclient.URL(servePipes(t, srv, srv.HTTPHandler()))
}

func overEventStream(t *testing.T, srv *mcpserver.Server) mcpclient.Target {
	return mcpclient.EventStream(servePipes(t, srv, srv.EventStreamHandler()))
}

// servePipes serves a handler, and ends it with the test.
func servePipes(t *testing.T, srv *mcpserver.Server, h http.Handler) (url string) {
	web := httptest.NewServer(h)
	t.Cleanup(func() {
		_ = srv.Shutdown(context.Background())
		web.Close()
	})
	return web.URL
}

func (n noteTransport) connect(t *testing.T, srv *mcpserver.Server) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.Connect(t.Context(), n.target(t, srv), &mcpclient.Options{Revisions: []mcp.Revision{n.revision}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestNotificationHandlerThatWaitsDelaysNeitherCallsNorCancellations(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-10", "R-281a")
	for _, transport := range noteTransports {
		t.Run(transport.name, func(t *testing.T) {
			t.Parallel()
			entered, release, cancelled := make(chan bool), make(chan bool), make(chan bool)
			srv := newServer(nil)
			srv.Handle(acmeNote, func(context.Context, *mcpserver.Request) (any, error) {
				entered <- true
				<-release
				return nil, nil
			})
			srv.Tool("quick", "", nothing)
			srv.Tool("slow", "", func(ctx context.Context, _ struct{}) (string, error) {
				entered <- true
				<-ctx.Done()
				close(cancelled)
				return "", ctx.Err()
			})
			c := transport.connect(t, srv)
			var notified sync.WaitGroup
			defer notified.Wait()
			defer close(release)
			notified.Go(func() { _ = c.Notify(t.Context(), acmeNote, nil) })
			await(t, entered, "the handler of the notification")
			if _, err := c.CallTool(t.Context(), "quick", nil); err != nil {
				t.Fatalf("a call behind the notification: %v", err)
			}
			slow, giveUp := context.WithCancel(t.Context())
			notified.Go(func() { _, _ = c.CallTool(slow, "slow", nil) })
			await(t, entered, "the slow call")
			giveUp()
			await(t, cancelled, "the cancellation of the slow call")
		})
	}
}

// await fails the test when nothing comes over a channel.
func await[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(3 * time.Minute):
		t.Fatalf("%s: nothing in 3 minutes", what)
	}
	panic("unreachable")
}

func TestNotificationsOfASessionAreHandledInTheirOrder(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-10")
	const count = 200
	for _, transport := range noteTransports {
		t.Run(transport.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var got []int
			done := make(chan bool, 1)
			srv := newServer(nil)
			srv.Handle(acmeNote, func(_ context.Context, r *mcpserver.Request) (any, error) {
				var p struct{ N int }
				if err := r.Decode(&p); err != nil {
					t.Errorf("decode: %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				if got = append(got, p.N); len(got) == count {
					done <- true
				}
				return nil, nil
			})
			c := transport.connect(t, srv)
			var want []int
			for n := range count {
				want = append(want, n)
				if err := c.Notify(t.Context(), acmeNote, map[string]int{"N": n}); err != nil {
					t.Fatal(err)
				}
			}
			await(t, done, "the last notification")
			if !slices.Equal(got, want) {
				t.Errorf("got the order %v, want the order in which they were sent", got)
			}
		})
	}
}

func TestNotificationsOfABatchAreHandledBeforeThoseBehindIt(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-10", "R-281a")
	synctest.Test(t, func(t *testing.T) {
		var j journal
		srv := newServer(nil)
		srv.Handle(acmeNote, func(_ context.Context, r *mcpserver.Request) (any, error) {
			j.add(string(r.Params()))
			return nil, nil
		})
		srv.Tool("wait", "", func(ctx context.Context, _ struct{}) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		w := dial(t, srv, mcp.V20250326)
		note := func(n int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"n":%d}}`, acmeNote, n)
		}
		for n := 0; n < 90; n += 3 {
			w.Write("[" + note(n) + `,{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"wait"}},` + note(n+1) +
				`,{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}]`)
			w.Write(note(n + 2))
		}
		synctest.Wait()
		var want []string
		for n := range 90 {
			want = append(want, fmt.Sprintf(`{"n":%d}`, n))
		}
		if got := j.take(); got != strings.Join(want, " ") {
			t.Errorf("got %s, want the order in which they were sent", got)
		}
	})
}

func TestFailuresOfNotificationHandlersAreLogged(t *testing.T) {
	t.Parallel()
	for _, transport := range noteTransports {
		t.Run(transport.name, func(t *testing.T) {
			t.Parallel()
			var log logbook
			srv := newServer(&mcpserver.Options{Logger: textLog(&log)})
			handled := make(chan bool, 8)
			for method, fail := range map[string]func() error{
				"notifications/acme/error": func() error { return errors.New("disk on fire") },
				"notifications/acme/panic": func() error { panic("lost marbles") },
				"notifications/acme/rule":  func() error { return mcp.Errorf(mcp.CodeInvalidParams, "want a colour") },
				"notifications/acme/good":  func() error { return nil },
			} {
				srv.Handle(method, func(context.Context, *mcpserver.Request) (any, error) {
					defer func() { handled <- true }()
					return nil, fail()
				})
			}
			c := transport.connect(t, srv)
			for _, kind := range []string{"error", "panic", "rule", "good", "good"} {
				if err := c.Notify(t.Context(), "notifications/acme/"+kind, nil); err != nil {
					t.Errorf("notify: %v", err)
				}
				await(t, handled, kind) // the log has it at the next, or at the end
			}
			for _, want := range []string{
				`level=ERROR msg="notification failed" method=notifications/acme/error error="disk on fire"`,
				`level=ERROR msg="notification handler panicked" panic="lost marbles" stack=`,
				`level=WARN msg="notification refused" method=notifications/acme/rule error="want a colour"`,
			} {
				if !strings.Contains(log.String(), want) {
					t.Errorf("got the log %s, want %s", log.String(), want)
				}
			}
		})
	}
}

func TestQueueOfNotificationsIsBoundedAndTheOldestAreDropped(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		release := make(chan bool)
		var mu sync.Mutex
		var reached int
		var handled []string
		srv := newServer(&mcpserver.Options{OnLimit: func(l mcp.LimitReached) {
			mu.Lock()
			defer mu.Unlock()
			if l.Limit == mcp.LimitNotifications && l.Method == acmeNote && l.Principal == mcp.PrincipalLocal {
				reached++
			}
		}})
		srv.Handle(acmeNote, func(_ context.Context, r *mcpserver.Request) (any, error) {
			<-release
			mu.Lock()
			defer mu.Unlock()
			handled = append(handled, string(r.Meta()["com.example/n"]))
			return nil, nil
		})
		srv.Tool("quick", "", nothing)
		w := dial(t, srv, r)
		const sent = 1 + 1024 + 10
		for n := range sent {
			meta := fmt.Sprintf(`"com.example/n":%d`, n)
			w.Write(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, acmeNote, withMeta(t, w.Params(`{}`), meta)))
			if n == 0 {
				synctest.Wait() // its handler runs, and takes no place in the queue
			}
		}
		w.Must("tools/list", "")
		close(release)
		synctest.Wait()
		if len(handled) != 1+1024 || handled[0] != "0" || handled[1] != "11" || handled[1024] != fmt.Sprint(sent-1) || reached != 10 {
			t.Errorf("got %d handled from %s and %s on, %d told; want 1025, 0 and 11, and 10", len(handled), handled[0], handled[1], reached)
		}
	})
}

func TestShutdownWaitsForNotificationHandlers(t *testing.T) {
	t.Parallel()
	for _, transport := range noteTransports {
		t.Run(transport.name, func(t *testing.T) {
			t.Parallel()
			entered, release := make(chan bool), make(chan bool)
			done := make(chan error, 2)
			srv := newServer(nil)
			srv.Handle(acmeNote, func(ctx context.Context, _ *mcpserver.Request) (any, error) {
				entered <- true
				<-release
				done <- ctx.Err()
				return nil, nil
			})
			c := transport.connect(t, srv)
			var notified sync.WaitGroup
			defer notified.Wait()
			notified.Go(func() { _ = c.Notify(t.Context(), acmeNote, nil) })
			await(t, entered, "the handler")
			ended := make(chan error, 1)
			go func() { ended <- srv.Shutdown(t.Context()) }()
			select {
			case err := <-ended:
				t.Errorf("shutdown: got %v before the handler has returned", err)
			case <-time.After(50 * time.Millisecond): // so that a Shutdown that does not wait is found
			}
			close(release)
			if err := await(t, ended, "shutdown"); err != nil {
				t.Errorf("shutdown: %v", err)
			}
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("the handler's context ended early: %v", err)
				}
			default:
				t.Error("Shutdown has returned before the handler")
			}
		})
	}
}

func TestShutdownWithAnEndedContextCancelsNotificationHandlers(t *testing.T) {
	t.Parallel()
	for _, transport := range noteTransports {
		t.Run(transport.name, func(t *testing.T) {
			t.Parallel()
			entered, ended := make(chan bool), make(chan bool)
			srv := newServer(nil)
			srv.Handle(acmeNote, func(ctx context.Context, _ *mcpserver.Request) (any, error) {
				entered <- true
				<-ctx.Done()
				close(ended)
				return nil, nil
			})
			c := transport.connect(t, srv)
			var notified sync.WaitGroup
			defer notified.Wait()
			notified.Go(func() { _ = c.Notify(t.Context(), acmeNote, nil) })
			await(t, entered, "the handler")
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := srv.Shutdown(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("shutdown: got %v, want %v", err, context.Canceled)
			}
			await(t, ended, "the end of the handler's context")
		})
	}
}

// A session's end waits for the handler that runs and handles nothing more.
func TestEndOfASessionDropsQueuedNotifications(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		handled := 0
		srv := newServer(nil)
		srv.Handle(acmeNote, func(ctx context.Context, _ *mcpserver.Request) (any, error) {
			handled++
			<-ctx.Done()
			time.Sleep(time.Minute)
			return nil, nil
		})
		w := dial(t, srv, r)
		for range 3 {
			w.Write(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, acmeNote, w.Params(`{}`)))
		}
		synctest.Wait()
		begin := time.Now()
		_ = w.Conn.Close()
		if err := <-w.served; err != nil || time.Since(begin) != time.Minute || handled != 1 {
			t.Errorf("got %v after %v, %d handled; want nil after a minute, 1", err, time.Since(begin), handled)
		}
		w.served <- nil
	})
}

// A client that has sent notifications/initialized is notified of later changes, however
// long middleware takes for that notification.
func TestSessionIsNotifiedOfChangesFromInitializedOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := everything(nil)
		srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
			return func(ctx context.Context, r *mcpserver.Request) (any, error) {
				if r.Method() == mcp.NotificationInitialized {
					select {
					case <-ctx.Done():
					case <-time.After(hour):
					}
				}
				return next(ctx, r)
			}
		})
		w := dial(t, srv, mcp.V20251125)
		srv.Tool("new", "", nothing)
		w.Notification(mcp.NotificationToolsListChanged)
	})
}
