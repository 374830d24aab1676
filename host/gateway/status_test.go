package gateway_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// That the last calls have failed does not hide that the upstream waits for the user, and keeps none of
// its features in the lists.
func TestFailingUpstreamThatNeedsApprovalIsWithdrawn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer("a")
		srv.AddTool(mcp.Tool{Name: "fail"}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
			return nil, mcp.Errorf(mcp.CodeInternal, "no luck")
		})
		var mu sync.Mutex
		var connections []mcp.Conn // guarded by mu
		target := mcpclient.Dial(func(context.Context) (mcp.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			connections = append(connections, mcptest.Dial(t, srv))
			return connections[len(connections)-1], nil
		})
		approved := true // guarded by mu
		g := startWith(t, &gateway.Options{
			Admit: func(_ context.Context, u *host.Upstream) (*host.Upstream, error) {
				mu.Lock()
				defer mu.Unlock()
				if !approved {
					return nil, host.ErrNeedsApproval
				}
				return u, nil
			},
		}, host.Upstream{Key: "a", Target: target, Settings: host.Settings{Share: true}})
		c := mcptest.Connect(t, g.Server(), &mcpclient.Options{Logger: quiet})
		for range 3 {
			if _, err := c.CallTool(t.Context(), "a__fail", nil); mcp.CodeOf(err) != mcp.CodeInternal {
				t.Fatalf("got %v, want the error of the tool", err)
			}
		}
		if s := g.Status()[0]; s.State != host.Failing || s.Tools != 1 {
			t.Errorf("got %+v, want it failing, with its tool", s)
		}
		mu.Lock()
		approved = false
		for _, conn := range connections {
			_ = conn.Close()
		}
		mu.Unlock()
		time.Sleep(time.Second) // the next attempt
		if s := g.Status()[0]; s.State != host.NeedsApproval {
			t.Errorf("got %+v, want that it needs approval", s)
		}
		if names := toolNames(t, c); len(names) != 0 {
			t.Errorf("got %q, want no tool of a server that needs approval", names)
		}
	})
}
