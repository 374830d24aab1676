package gateway

import (
	"context"

	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// relayRootChanges is middleware that relays notifications/roots/list_changed to the
// upstreams over the connections of the session. They then list the roots again.
func (g *Gateway) relayRootChanges(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		if r.Method() == mcp.NotificationRootsListChanged {
			for _, u := range g.list() {
				u.relay.RootsChanged(ctx, link.CallerOf(r))
			}
		}
		return next(ctx, r)
	}
}
