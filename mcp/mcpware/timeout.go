package mcpware

import (
	"context"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Timeout returns middleware that ends the context of requests of the given methods
// after d; without methods of all of them. The time stands still while a request waits
// for its client, see mcpserver.Timeout. A handler that returns an error then is
// answered with one of mcp.CodeInternal that says so. It does not leave a handler behind
// that goes on all the same: for that, a tool has the option mcpserver.Timeout. It
// panics when d is not positive.
func Timeout(d time.Duration, only ...string) mcpserver.Middleware {
	if d <= 0 {
		panic(fmt.Sprintf("mcpware.Timeout: %v: want more than 0", d))
	}
	return func(next mcpserver.Handler) mcpserver.Handler {
		return func(ctx context.Context, r *mcpserver.Request) (any, error) {
			if !methods(only).match(r) {
				return next(ctx, r)
			}
			late := mcp.Errorf(mcp.CodeInternal, "%s: not done within %v", r.Method(), d)
			bounded, cancel := exchange.WithTimeout(ctx, d, late)
			defer cancel()
			result, err := next(bounded, r)
			if err != nil && context.Cause(bounded) == error(late) {
				return nil, late
			}
			return result, err
		}
	}
}
