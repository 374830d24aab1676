package gateway

import (
	"context"

	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// relayLogLevels is middleware that sets the level of logging/setLevel at the upstreams of the
// session era, over the connections of the session, so that their log messages outside of calls
// have it at once. A shared connection keeps its level: its log messages are not relayed,
// because they may belong to another caller.
func (g *Gateway) relayLogLevels(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		result, err := next(ctx, r)
		if err != nil || r.Method() != mcp.MethodSetLevel {
			return result, err
		}
		var p mcp.SetLevelParams
		if r.Decode(&p) == nil && r.Session() != nil {
			for _, u := range g.list() {
				u.relay.SetSessionLevel(link.CallerOf(r), p.Level)
			}
		}
		return result, err
	}
}
