package mcpserver_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// named are the arguments of tools that record the order of their calls.
type named struct {
	Name string `json:"name"`
}

// ordered returns a server whose tool has one slot: its calls send their names to order, and
// hold the slot until next lets them end.
func ordered(o *mcpserver.Options, opts ...mcpserver.ToolOption) (srv *mcpserver.Server, order chan string, next func()) {
	srv = newServer(o)
	order, hold := make(chan string, 1024), make(chan struct{})
	srv.Tool("one", "", func(ctx context.Context, in named) (string, error) {
		order <- in.Name
		select {
		case <-hold:
		case <-ctx.Done():
		}
		return "", nil
	}, append(opts, mcpserver.Limit(1))...)
	return srv, order, func() {
		hold <- struct{}{}
		synctest.Wait()
	}
}

func callOne(name string) string {
	return fmt.Sprintf(`{"name":"one","arguments":{"name":%q}}`, name)
}

// TestWaitingCallsOfOneSessionDoNotDelayTheCallOfAnother has one session with a running call of
// a tool and 438 that wait: the call of another session is the next to run.
func TestWaitingCallsOfOneSessionDoNotDelayTheCallOfAnother(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	synctest.Test(t, func(t *testing.T) {
		srv, order, next := ordered(nil)
		greedy, modest := dial(t, srv, mcp.V20251125), dial(t, srv, mcp.V20251125)
		for range 439 {
			greedy.Send("tools/call", callOne("greedy"))
			synctest.Wait()
		}
		id := modest.Send("tools/call", callOne("modest"))
		synctest.Wait()
		<-order
		next()
		if got := <-order; got != "modest" {
			t.Errorf("the call of the %s session runs next, want that of the modest one", got)
		}
		for range 2 {
			next()
		}
		if m := modest.Reply(id); m.Error != nil {
			t.Errorf("got %s, want the call done", m.Raw)
		}
	})
}
