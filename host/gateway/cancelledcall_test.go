package gateway_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// hangingDiary is recordingServer with a tool that returns when it is cancelled, and one that
// asks.
func hangingDiary(o *mcpserver.Options) *mcpserver.Server {
	srv := recordingServer(o)
	srv.Tool("hang", "Hang", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	srv.Tool("ask", "Ask", func(ctx context.Context, _ struct{}) (string, error) {
		who, err := mcpserver.Ask[greeting](ctx, "who", "Who?")
		return who.Name, err
	})
	return srv
}

// The state of a server survives a call that its caller cancels.
func TestCancelledCallEndsNoConnection(t *testing.T) {
	t.Parallel()
	for _, share := range []bool{false, true} {
		for _, up := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
			for _, down := range []mcp.Revision{mcp.V20250618, mcp.V20251125, mcp.V20260728} {
				synctest.Test(t, func(t *testing.T) {
					f := &sessionTarget{revision: up, make: hangingDiary}
					g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(f), Settings: host.Settings{Share: share}})
					c := newWordClient(t, g, down, "x") // it declares all capabilities
					c.write(t)
					served, _ := f.counts()
					for range 3 {
						ctx, cancel := context.WithTimeout(t.Context(), time.Second)
						if _, err := c.CallTool(ctx, "d__hang", nil); !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("got %v, want the call cancelled", err)
						}
						cancel()
					}
					synctest.Wait()
					if got := c.write(t); got != "x x" {
						t.Errorf("%s behind for %s, share %t: got %q, want the state kept", up, down, share, got)
					}
					if now, _ := f.counts(); now != served {
						t.Errorf("%s behind for %s, share %t: got %d connections, want %d as before", up, down, share, now, served)
					}
				})
			}
		}
	}
}

// Some time after a cancelled call the server can ask again, and the user is asked.
func TestServerCanAskAgainAfterACancelledCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &sessionTarget{revision: mcp.V20251125, make: hangingDiary}
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(f)})
		var mu sync.Mutex
		asked := 0
		c := mcptest.Connect(t, g.Server(), answering(mcp.V20260728, func(context.Context) (*mcp.ElicitResult, error) {
			mu.Lock()
			defer mu.Unlock()
			asked++
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsonValue(`{"name":"Ada"}`)}, nil
		}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _ = c.CallTool(ctx, "d__hang", nil)
		if result, err := c.CallTool(t.Context(), "d__ask", nil); err != nil || !result.IsError || asked != 0 {
			t.Errorf("got %+v, %v after %d questions, want none while it may be one of the cancelled call", result, err, asked)
		}
		time.Sleep(time.Minute)
		if result, err := c.CallTool(t.Context(), "d__ask", nil); err != nil || result.Content.Text() != "Ada" || asked != 1 {
			t.Errorf("got %+v, %v after %d questions, want an answer", result, err, asked)
		}
	})
}
