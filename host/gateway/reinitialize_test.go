package gateway_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// A failure here means that a client can have more resources watched than one session may,
// by initializing again and again.
func TestSecondInitializeEndsTheSubscriptionsAtTheUpstream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var calls []string
		g := start(t, host.Upstream{Key: "a", Target: mcpclient.InProcess(&sessionTarget{revision: mcp.V20251125, make: func(o *mcpserver.Options) *mcpserver.Server {
			srv := mcpserver.New("a", "1", o)
			srv.Resource("a://x", "x", "", func(context.Context) ([]byte, error) { return nil, nil })
			srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
				return func(ctx context.Context, r *mcpserver.Request) (any, error) {
					if r.Method() == mcp.MethodResourcesSubscribe || r.Method() == mcp.MethodResourcesUnsubscribe {
						mu.Lock()
						defer mu.Unlock()
						calls = append(calls, r.Method())
					}
					return next(ctx, r)
				}
			})
			return srv
		}})})
		c := mcptest.Connect(t, g.Server(), &mcpclient.Options{Logger: quiet, Revisions: []mcp.Revision{mcp.V20251125}})
		if err := c.Request(t.Context(), mcp.MethodResourcesSubscribe, &mcp.SubscribeParams{URI: "a://x"}, nil); err != nil {
			t.Fatal(err)
		}
		again := &mcp.InitializeParams{ProtocolVersion: "2025-11-25", ClientInfo: mcp.Implementation{Name: "next", Version: "1"}}
		if err := c.Request(t.Context(), mcp.MethodInitialize, again, nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if want := []string{mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe}; !slices.Equal(calls, want) {
			t.Errorf("the upstream got %q, want %q", calls, want)
		}
	})
}
