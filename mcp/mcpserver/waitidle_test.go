package mcpserver_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestCallsThatWaitIdleUseNoSlot(t *testing.T) {
	claim.Shows(t, "B-12")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(&mcpserver.Options{
			Load: &mcpserver.LoadOptions{MaxCalls: 4, ShareCalls: 4},
			Ask:  &mcpserver.AskOptions{OwnerQuestions: 20},
		})
		decided, waiting := make(chan struct{}), make(chan struct{}, 20)
		srv.Tool("wait", "", func(ctx context.Context, _ struct{}) (string, error) {
			return "done", mcpserver.WaitIdle(ctx, func(ctx context.Context) error {
				waiting <- struct{}{}
				select {
				case <-decided:
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
		}, mcpserver.Limit(1), mcpserver.Timeout(time.Second))
		srv.Tool("now", "", func(context.Context, struct{}) (string, error) { return "now", nil })
		w := dialAs(t, srv, r, canAll)
		var calls []string
		for range 20 {
			calls = append(calls, w.Send("tools/call", `{"name":"wait"}`))
			<-waiting
		}
		begin := time.Now()
		if other := w.Call("tools/call", `{"name":"now"}`); !strings.Contains(string(other.Raw), `"now"`) || time.Since(begin) != 0 {
			t.Errorf("got %s after %v, want a slot at once", other.Raw, time.Since(begin))
		}
		if over := w.Call("tools/call", `{"name":"wait"}`); !strings.Contains(string(over.Raw), "too many questions") {
			t.Errorf("got %s, want a refusal, because the limit is reached", over.Raw)
		}
		time.Sleep(time.Hour) // the tool's timeout is paused meanwhile
		close(decided)
		for _, id := range calls {
			if got := w.Reply(id); !strings.Contains(string(got.Raw), `"done"`) {
				t.Errorf("got %s, want the result after the wait", got.Raw)
			}
		}
	})
}

func TestWaitIdleOutsideOfACallOnlyWaits(t *testing.T) {
	t.Parallel()
	want := errors.New("decided")
	if err := mcpserver.WaitIdle(t.Context(), func(context.Context) error { return want }); err != want {
		t.Errorf("got %v, want %v", err, want)
	}
}

func TestQuestionInAWaitIsPartOfIt(t *testing.T) {
	eachOf(t, revisions[:4], func(t *testing.T, r mcp.Revision) {
		srv := newServer(&mcpserver.Options{
			Load: &mcpserver.LoadOptions{MaxCalls: 1, MaxWait: time.Minute},
			Ask:  &mcpserver.AskOptions{OwnerQuestions: 1},
		})
		answered, release := make(chan string, 1), make(chan struct{})
		srv.Tool("ask", "", func(ctx context.Context, in struct {
			Other bool `json:"other,omitzero"`
		},
		) (string, error) {
			return "done", mcpserver.WaitIdle(ctx, func(wait context.Context) error {
				asking := wait
				if in.Other {
					asking = mcpserver.ContextInWait(t.Context(), wait)
				}
				var roots mcp.ListRootsResult
				err := mcpserver.From(ctx).Call(asking, mcp.MethodRootsList, nil, &roots)
				if err == nil {
					answered <- roots.Roots[0].Name
				}
				return err
			})
		})
		srv.Tool("hold", "", func(context.Context, struct{}) (string, error) {
			<-release
			return "held", nil
		})
		w := dialAs(t, srv, r, canAll)
		for _, arguments := range []string{`{}`, `{"other":true}`} {
			id := w.Send("tools/call", `{"name":"ask","arguments":`+arguments+`}`)
			question := w.Read()
			if question.Method != mcp.MethodRootsList {
				t.Fatalf("got %s, want the question, which counts once", question.Raw)
			}
			held := w.Send("tools/call", `{"name":"hold"}`)
			synctest.Wait()
			w.Write(`{"jsonrpc":"2.0","id":` + string(question.ID) + `,"result":{"roots":[{"uri":"file:///home","name":"home"}]}}`)
			synctest.Wait()
			select {
			case got := <-answered:
				if got != "home" {
					t.Errorf("got %q, want the answer", got)
				}
			default:
				t.Error("got no answer, want it before the call has the slot that another call has")
			}
			release <- struct{}{}
			for _, call := range []string{held, id} {
				if got := w.Reply(call); got.Result == nil {
					t.Errorf("got %s, want the result", got.Raw)
				}
			}
		}
	})
}

func TestContextOutsideOfAWaitIsNoneOfOne(t *testing.T) {
	t.Parallel()
	if ctx := t.Context(); mcpserver.ContextInWait(ctx, context.Background()) != ctx {
		t.Error("got another context, want it as it is")
	}
}
