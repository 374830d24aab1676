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

// Bulkhead returns middleware that lets at most n requests of the given methods run at
// once, so that they cannot take the room of others; without methods it is about all of
// them. As many again wait for their turn, no longer than wait, and principals take
// turns. A request that waits for its client gives its place to others and comes back
// before new ones. What comes on top is refused with an error of mcp.CodeOverloaded that says when
// to try again. It panics when n is not positive or wait is negative.
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
			err := gate.Enter(ctx, nil, 0, r.Principal)
			if errors.Is(err, limit.ErrWhole) {
				r.Reached(LimitBulkhead)
				err = mcp.RetryLaterf(mcp.CodeOverloaded, max(wait, time.Second), "%s: too many of these are running; try again later", r.Method)
			}
			if err != nil {
				return nil, err
			}
			place := exchange.NewLease(func() { gate.Leave(nil, 0) }, func() error { return gate.Return(ctx, nil, 0) })
			defer place.End()
			return next(exchange.WithClock(ctx, place), r)
		}
	}
}
