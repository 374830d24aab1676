package mcpware

import (
	"context"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Timeout returns middleware that ends the context of requests of the given methods after
// d; without methods it applies to all. The time is paused while a request waits for its
// client. In contrast to the option mcpserver.Timeout of a tool, the time includes that in
// which the request waits for a slot (mcpserver.Limit), and in the stateless era it begins
// again with each round of a call. If the handler then returns an error, the response is an
// error of mcp.CodeInternal. The middleware waits for a handler that ignores its context;
// the option does not. Timeout panics if d is not positive.
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
