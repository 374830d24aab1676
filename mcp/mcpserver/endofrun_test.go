package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// apartFrom is middleware that runs what comes next on a goroutine and answers as soon as
// the context ends, as many time limits do. A question ends the context of its run.
func apartFrom(wait *sync.WaitGroup) mcpserver.Middleware {
	return func(next mcpserver.Handler) mcpserver.Handler {
		return func(ctx context.Context, r *mcpserver.Request) (any, error) {
			type outcome struct {
				result any
				err    error
			}
			done := make(chan outcome, 1)
			wait.Go(func() {
				result, err := next(ctx, r)
				done <- outcome{result, err}
			})
			select {
			case o := <-done:
				return o.result, o.err
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
	}
}

func TestRunThatIsEndedOnTwoGoroutinesHasOneReply(t *testing.T) {
	t.Parallel()
	srv, l := newServer(nil), new(lot)
	var wait sync.WaitGroup
	srv.Use(apartFrom(&wait))
	srv.Tool("many", "", func(ctx context.Context, _ struct{}) (string, error) {
		for i := range 20 {
			if err := l.park(ctx, fmt.Sprint(i)); err != nil {
				return "", err
			}
		}
		_, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
		return "done", err
	})
	w := dialAs(t, srv, mcp.V20260728, canAll)
	for range 200 {
		r := w.Must("tools/call", `{"name":"many"}`)
		r = w.Must("tools/call", retry(t, `{"name":"many"}`, r, `{"colour":`+accept(`{"colour":"red"}`)+`}`))
		if at(t, r, "/content/0/text") != `"done"` {
			t.Fatalf("got %s", r)
		}
	}
	wait.Wait()
	l.holds(t, 200*20, 200*20)
}

func TestMiddlewareMayCallNextTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, l := newServer(nil), new(lot)
		srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
			return func(ctx context.Context, r *mcpserver.Request) (any, error) {
				_, _ = next(ctx, r)
				return next(ctx, r)
			}
		})
		srv.Tool("one", "", func(ctx context.Context, _ struct{}) (string, error) {
			if err := l.park(ctx, "value"); err != nil {
				return "", err
			}
			_, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
			return "done", err
		})
		w := dialAs(t, srv, mcp.V20260728, canAll)
		r := w.Must("tools/call", `{"name":"one"}`)
		w.Call("tools/call", retry(t, `{"name":"one"}`, r, `{"colour":`+accept(`{"colour":"red"}`)+`}`))
		l.holds(t, 1, 1)
	})
}

// TestSameRetryTwiceTakesTheValuesOnce is about a client that sends its answer again
// while the first request with it is being worked on.
func TestSameRetryTwiceTakesTheValuesOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, l, hold := newServer(nil), new(lot), make(chan struct{})
		srv.Tool("two", "", func(ctx context.Context, _ struct{}) (string, error) {
			if err := l.park(ctx, "first"); err != nil {
				return "", err
			}
			if mcpserver.From(ctx).Round() > 0 {
				<-hold
			}
			if err := l.park(ctx, "second"); err != nil {
				return "", err
			}
			_, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
			return "done", err
		})
		w := dialAs(t, srv, mcp.V20260728, canAll)
		again := retry(t, `{"name":"two"}`, w.Must("tools/call", `{"name":"two"}`), `{"colour":`+accept(`{"colour":"red"}`)+`}`)
		first := w.Send("tools/call", again)
		synctest.Wait()
		if r := w.Must("tools/call", again); at(t, r, "/isError") != "true" {
			t.Errorf("the second: got %s, want that its values are gone", r)
		}
		close(hold)
		if r := w.Reply(first).Result; at(t, r, "/content/0/text") != `"done"` {
			t.Errorf("the first: got %s, want it done", r)
		}
		l.holds(t, 2, 2)
	})
}

// TestRetryThatIsRefusedMayBeMadeAgain is about a retry that a middleware refuses: nothing of
// what it brings is used up.
func TestRetryThatIsRefusedMayBeMadeAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, l := newServer(&mcpserver.Options{Ask: &mcpserver.AskOptions{SingleUse: true}}), new(lot)
		srv.Tool("rare", "", func(ctx context.Context, _ struct{}) (string, error) {
			if err := l.park(ctx, "value"); err != nil {
				return "", err
			}
			_, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
			return "done", err
		})
		refuses := false
		srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
			return func(ctx context.Context, r *mcpserver.Request) (any, error) {
				if refuses && r.Method() == mcp.MethodToolsCall {
					return nil, mcp.Errorf(mcp.CodeOverloaded, "not now")
				}
				return next(ctx, r)
			}
		})
		w := dialAs(t, srv, mcp.V20260728, canAll)
		again := retry(t, `{"name":"rare"}`, w.Must("tools/call", `{"name":"rare"}`), `{"colour":`+accept(`{"colour":"red"}`)+`}`)
		refuses = true
		if m := w.Call("tools/call", again); m.Error == nil {
			t.Fatalf("got %s, want it refused", m.Raw)
		}
		refuses = false
		if r := w.Must("tools/call", again); at(t, r, "/content/0/text") != `"done"` {
			t.Errorf("got %s, want it done", r)
		}
		l.holds(t, 1, 1)
	})
}

func TestParkedValuesAreClosedWithBackgroundWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, l := newServer(nil), new(lot)
		srv.Tool("detach", "", func(ctx context.Context, _ struct{}) (string, error) {
			if mcpserver.From(ctx).Round() == 0 {
				if err := l.park(ctx, "value"); err != nil {
					return "", err
				}
				_, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
				return "", err
			}
			_, done, err := mcpserver.Detach(ctx, mcpserver.Background{})
			if err == nil {
				done()
			}
			return "done", err
		})
		w := dialAs(t, srv, mcp.V20260728, canAll)
		r := w.Must("tools/call", `{"name":"detach"}`)
		w.Must("tools/call", retry(t, `{"name":"detach"}`, r, `{"colour":`+accept(`{"colour":"red"}`)+`}`))
		l.holds(t, 1, 1)
	})
}

func TestContextOfAValueEndsWhenItsOpeningPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, own := newServer(nil), make(chan context.Context, 1)
		srv.Tool("fall", "", func(ctx context.Context, _ struct{}) (string, error) {
			_, err := mcpserver.Park(ctx, "value", func(ctx context.Context) (int, error) { own <- ctx; panic("boom") }, func(int) {})
			return "", err
		})
		dialAs(t, srv, mcp.V20260728, canAll).Call("tools/call", `{"name":"fall"}`)
		if err := (<-own).Err(); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	})
}

// TestMiddlewareOfAQuestionMayAskToo is about a question that the server asks while it
// sends another one.
func TestMiddlewareOfAQuestionMayAskToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := patient(nil, mcpserver.Limit(1))
		srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
			return func(ctx context.Context, r *mcpserver.Request) (any, error) {
				if r.Outbound() && r.Method() == mcp.MethodElicit {
					if err := r.Call(ctx, mcp.MethodRootsList, nil, nil); err != nil {
						return nil, err
					}
				}
				return next(ctx, r)
			}
		})
		w := dialAs(t, srv, mcp.V20251125, canAll)
		id := w.Send("tools/call", `{"name":"ask"}`)
		roots := w.Read()
		w.Write(`{"jsonrpc":"2.0","id":` + string(roots.ID) + `,"result":{"roots":[]}}`)
		q := w.Read()
		w.Write(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + accept(`{"colour":"red"}`) + `}`)
		if got := at(t, w.Reply(id).Result, "/content/0/text"); got != `"red"` {
			t.Errorf("got %s", got)
		}
		w.Must("tools/call", `{"name":"now"}`)
	})
}
