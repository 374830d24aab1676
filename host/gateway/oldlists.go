package gateway

import (
	"context"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// refreshOldLists is middleware that reads lists again that are too old, before clients see them.
func (g *Gateway) refreshOldLists(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		if !isList(r) {
			return next(ctx, r)
		}
		var waits []func(context.Context)
		for _, u := range g.list() {
			if u.source.IsOld() {
				waits = append(waits, u.pool.SharedConn().BeginRefresh())
			}
		}
		for _, wait := range waits {
			wait(ctx)
		}
		return next(ctx, r)
	}
}
