package mcpware

import (
	"context"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/internal/quota"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// LimitRate and LimitBulkhead are the limits that the middleware reports to
// mcpserver.Options.OnLimit when it refuses a request.
const (
	LimitRate     mcp.Limit = "mcpware.rate"
	LimitBulkhead mcp.Limit = "mcpware.bulkhead"
)

// RateLimit returns middleware that limits the rate of each principal's requests of the given
// methods together; without methods it applies to all. Further requests are refused with
// mcp.CodeRateLimited and the time after which to retry. Anonymous callers are one principal. With
// LoadOptions.SharedRates, all replicas together keep the rate of an authenticated principal, and
// two RateLimits of the same rate and methods are one. It panics if the rate is not positive.
func RateLimit(r mcp.Rate, only ...string) mcpserver.Middleware {
	if !(r.PerSecond > 0) || r.Burst < 0 {
		panic(fmt.Sprintf("mcpware.RateLimit: %+v: want more than 0 a second", r))
	}
	buckets := limit.NewBuckets[mcp.Principal](r)
	shared := quota.Key{Name: fmt.Sprintf("%s.%v.%d.%q", LimitRate, r.PerSecond, r.Burst, only), Rate: r}
	take := func(ctx context.Context, who mcp.Principal) (time.Duration, bool) {
		if replicas := quota.From(ctx); replicas != nil && who.Authenticated() {
			k := shared
			k.Principal = who
			return replicas.Take(k)
		}
		return buckets.Take(who)
	}
	return func(next mcpserver.Handler) mcpserver.Handler {
		return func(ctx context.Context, r *mcpserver.Request) (any, error) {
			if !methods(only).match(r) {
				return next(ctx, r)
			}
			if wait, ok := take(ctx, r.Principal()); !ok {
				r.ReportLimit(LimitRate)
				return nil, mcp.PeerRetryLaterf(mcp.CodeRateLimited, wait, "%s: too many requests in a short time; want the next in %v", r.Method(), wait.Round(time.Millisecond))
			}
			return next(ctx, r)
		}
	}
}
