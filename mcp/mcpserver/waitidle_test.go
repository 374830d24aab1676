package mcpserver_test

import (
	"context"
	"errors"
	"strings"
	"testing"
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
