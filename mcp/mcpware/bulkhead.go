package mcpware

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Bulkhead returns middleware that runs at most n requests of the given methods concurrently, so
// that they cannot use up the limits of others; without methods it applies to all. As many again
// wait, at most for the time wait, in a fair queue of principals. A request that waits for its
// client does not count, and continues before new ones start. Further requests are refused with
// mcp.CodeOverloaded and the time after which to retry. It panics when n is not positive or wait is
// negative.
func Bulkhead(n int, wait time.Duration, only ...string) mcpserver.Middleware {
	if n < 1 || wait < 0 {
		panic(fmt.Sprintf("mcpware.Bulkhead: %d requests, waiting %v: want at least 1, and no less than 0", n, wait))
	}
	bounds := limit.Bounds{Calls: n, Bytes: math.MaxInt}
	gate := limit.NewGate[mcp.Principal](bounds, bounds, wait)
	return func(next mcpserver.Handler) mcpserver.Handler {
		return func(ctx context.Context, r *mcpserver.Request) (any, error) {
			if !methods(only).match(r) {
				return next(ctx, r)
			}
			err := gate.Enter(ctx, nil, 0, r.Principal())
			if errors.Is(err, limit.ErrWhole) {
				r.ReportLimit(LimitBulkhead)
				err = mcp.PeerRetryLaterf(mcp.CodeOverloaded, max(wait, time.Second), "%s: too many of these are running; try again later", r.Method())
			}
			if err != nil {
				return nil, err
			}
			place := exchange.NewLease(func() { gate.Leave(nil, 0) }, func() error { return gate.Return(ctx, nil, 0) })
			defer place.End()
			return next(exchange.WithPausable(ctx, place), r)
		}
	}
}
