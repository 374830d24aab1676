package gateway

import (
	"context"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// relayRootChanges is middleware that tells upstreams, over the lines of a
// session, that its client's roots have changed. What they knew of them they ask
// for again.
func (g *Gateway) relayRootChanges(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		if r.Method == mcp.NotificationRootsListChanged {
			for _, u := range g.all() {
				u.rootsChanged(ctx, callerOf(r))
			}
		}
		return next(ctx, r)
	}
}

func (u *upstream) rootsChanged(ctx context.Context, c caller) {
	u.mu.Lock()
	l := u.callers[c]
	u.mu.Unlock()
	if l == nil {
		return
	}
	if client, _, _ := l.look(); client != nil {
		if err := client.RootsChanged(ctx); err != nil {
			u.log.Info("upstream does not hear of changed roots", "error", err)
		}
	}
}
