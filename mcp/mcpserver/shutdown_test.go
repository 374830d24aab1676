package mcpserver_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/wiretest"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// sleeper has a tool that takes a second, whatever its context says, and one that
// waits for the end of its context.
func sleeper() *mcpserver.Server {
	srv := everything(nil)
	srv.Tool("sleep", "", func(context.Context, struct{}) (string, error) {
		time.Sleep(time.Second)
		return "rested", nil
	})
	srv.Tool("wait", "", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	return srv
}

// shutdown begins a shutdown and returns where its error will come.
func shutdown(ctx context.Context, srv *mcpserver.Server) <-chan error {
	done := make(chan error, 1)
	go func() { done <- srv.Shutdown(ctx) }()
	synctest.Wait()
	return done
}

func TestShutdownLetsRunningCallsFinish(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := sleeper()
		w := dial(t, srv, r)
		id := w.Send("tools/call", `{"name":"sleep"}`)
		synctest.Wait()
		begin := time.Now()
		done := shutdown(t.Context(), srv)
		if err := w.Refused("tools/list", "", 503); !strings.Contains(err.Message, "shutting down") {
			t.Errorf("got %q, want that the server is shutting down", err.Message)
		}
		if got := at(t, w.Reply(id).Result, "/content/0/text"); got != `"rested"` {
			t.Errorf("got %s, want the running call finished", got)
		}
		if err := <-done; err != nil || time.Since(begin) != time.Second {
			t.Errorf("got %v after %v, want nil after 1s", err, time.Since(begin))
		}
		if _, err := w.Conn.Read(t.Context()); err != io.EOF {
			t.Errorf("got %v, want the connection closed", err)
		}
	})
}

// slowWriter takes its time to write.
type slowWriter struct{ mcp.Conn }

func (s *slowWriter) Write(ctx context.Context, msg []byte) error {
	time.Sleep(100 * time.Millisecond)
	return s.Conn.Write(ctx, msg)
}

func TestShutdownWaitsUntilRepliesAreWritten(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := sleeper()
		ours, theirs := pipe(t)
		w := attach(t, srv, ours, &slowWriter{theirs})
		w.Initialize(r, `{}`)
		id := w.Send("tools/call", `{"name":"sleep"}`)
		listen := ""
		if isModern(r) {
			listen = w.Send("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)
			w.Notification("notifications/subscriptions/acknowledged")
		}
		synctest.Wait()
		done := shutdown(t.Context(), srv)
		w.Reply(id)
		if listen != "" {
			w.Reply(listen)
		}
		if err := <-done; err != nil {
			t.Errorf("got %v, want nil", err)
		}
	})
}

func TestShutdownEndsSubscriptionsWithTheirResult(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-285a", "R-285b", "R-310", "G-a")
	synctest.Test(t, func(t *testing.T) {
		srv := sleeper()
		w := dial(t, srv, mcp.V20260728)
		id := w.Send("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)
		w.Notification("notifications/subscriptions/acknowledged")
		running := w.Send("tools/call", `{"name":"sleep"}`)
		synctest.Wait()
		srv.RemoveTool("echo")
		done := shutdown(t.Context(), srv)
		w.Notification("notifications/tools/list_changed")
		if got := at(t, w.Notification("notifications/cancelled").Params, "/requestId"); got != id {
			t.Errorf("got %s cancelled, want %s", got, id)
		}
		w.Reply(running)
		end := w.Reply(id)
		if len(w.Held) > 0 {
			t.Errorf("got %s, want nothing else cancelled", w.Held[0].Raw)
		}
		if at(t, end.Result, "/resultType") != `"complete"` || at(t, end.Result, "/_meta/io.modelcontextprotocol~1subscriptionId") != id {
			t.Errorf("got %s, want a complete result with the id of the subscription", end.Raw)
		}
		if err := <-done; err != nil {
			t.Errorf("got %v, want nil", err)
		}
	})
}

func TestShutdownThatTimesOutCancelsRunningCalls(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := sleeper()
		w := dial(t, srv, r)
		w.Send("tools/call", `{"name":"wait"}`)
		synctest.Wait()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("enough"))
		defer cancel()
		begin := time.Now()
		if err := <-shutdown(ctx, srv); err == nil || err.Error() != "enough" || time.Since(begin) != time.Minute {
			t.Errorf("got %v after %v, want the cause after 1m", err, time.Since(begin))
		}
		if err := <-w.served; !errors.Is(err, mcpserver.ErrShutdown) {
			t.Errorf("serve: got %v, want %v: nothing of it runs any more", err, mcpserver.ErrShutdown)
		}
		w.served <- nil
	})
}

func TestShutdownWaitsForHandlersThatWereTooLate(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		ended := false
		srv := newServer(nil)
		srv.Tool("slow", "", func(context.Context, struct{}) (string, error) {
			time.Sleep(time.Minute)
			ended = true
			return "", nil
		}, mcpserver.Timeout(time.Second))
		w := dial(t, srv, r)
		w.Must("tools/call", `{"name":"slow"}`)
		if err := <-shutdown(t.Context(), srv); err != nil || !ended {
			t.Errorf("got %v, handler ended: %v, want it waited for", err, ended)
		}
	})
}

func TestServerCannotServeAfterItsShutdown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := sleeper()
		w := dial(t, srv, mcp.V20251125)
		for range 2 {
			if err := srv.Shutdown(t.Context()); err != nil {
				t.Errorf("got %v, want nil", err)
			}
		}
		if _, err := w.Conn.Read(t.Context()); err != io.EOF {
			t.Errorf("got %v, want the connection closed", err)
		}
		ours, theirs := pipe(t)
		if err := srv.Serve(t.Context(), theirs); !errors.Is(err, mcpserver.ErrShutdown) {
			t.Errorf("got %v, want %v", err, mcpserver.ErrShutdown)
		}
		if _, err := ours.Read(t.Context()); err != io.EOF {
			t.Errorf("got %v, want the new connection closed", err)
		}
		srv.Tool("registering", "does no harm", nothing)
		srv.Updated("a://b")
	})
}

func TestShutdownOfAServerThatNeverServed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, ctx := range []context.Context{t.Context(), ctx} {
		if err := newServer(nil).Shutdown(ctx); err != nil {
			t.Errorf("got %v, want nil: there was nothing to wait for", err)
		}
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := sleeper()
		ctx, cancel := context.WithCancel(t.Context())
		ours, theirs := pipe(t)
		served := make(chan error, 1)
		go func() { served <- srv.Serve(ctx, theirs) }()
		w := &wire{Client: wiretest.Client{T: t, Conn: ours}}
		w.Initialize(r, `{}`)
		w.Send("tools/call", `{"name":"wait"}`)
		synctest.Wait()
		cancel()
		if err := <-served; err == nil {
			t.Error("got nil, want that the context has ended")
		}
	})
}

func TestDetachedCallOfAToolWithATimeoutBeginsDuringAShutdown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(nil)
		var result mcp.Result
		var failed error
		srv.Tool("slow", "", func(context.Context, struct{}) (string, error) {
			time.Sleep(time.Second)
			return "finished", nil
		}, mcpserver.Timeout(time.Hour), mcpserver.Wrap(func(next mcpserver.ToolHandler) mcpserver.ToolHandler {
			return func(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
				background, done, err := mcpserver.Detach(ctx, mcpserver.Background{})
				if err != nil {
					return nil, err
				}
				go func() {
					defer done()
					time.Sleep(time.Second)
					result, failed = next(background, p)
				}()
				return &mcp.CallToolResult{}, nil
			}
		}))
		w := dial(t, srv, mcp.V20251125)
		w.Must("tools/call", `{"name":"slow"}`)
		begin := time.Now()
		if err := <-shutdown(t.Context(), srv); err != nil || failed != nil || time.Since(begin) != 2*time.Second {
			t.Errorf("got %v after %v, the call %v, %v, want it waited for", err, time.Since(begin), result, failed)
		}
	})
}
