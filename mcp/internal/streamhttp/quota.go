package streamhttp

import (
	"errors"
	"net/http"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// quota bounds the sessions or the event streams of an endpoint. See limit.Pool for
// whose goes first when there are too many. It is safe for concurrent use.
type quota struct {
	o           *Options
	pool        *limit.Pool
	full, spent *refusal // when there is no more at all, and no more for its owner
}

// newQuota returns a quota that is known by the names of its two limits.
func newQuota(o *Options, b limit.PoolBounds, whole, share mcp.Limit) *quota {
	full := refuse(http.StatusServiceUnavailable, "the server is full: try again later")
	spent := refuse(http.StatusTooManyRequests, "too many at once: end some or try again later")
	full.limit, spent.limit = whole, share
	return &quota{o: o, pool: limit.NewPool(b), full: full, spent: spent}
}

// newStreamQuota returns the quota of the long-lived event streams.
func newStreamQuota(o *Options) *quota {
	return newQuota(o, limit.PoolBounds{Total: int64(o.maxStreams()), Principal: int64(o.principalStreams())},
		mcp.LimitStreams, mcp.LimitPrincipalStreams)
}

// take counts one more for an owner, which needs one Release. Otherwise it returns full
// or spent. evict is called, without a lock, when the place goes to another owner; it
// has to call crowdedOut.
func (q *quota) take(owner limit.Owner, evict func()) (*limit.Place, *refusal) {
	place, err := q.pool.Take(owner, 1, evict)
	switch {
	case errors.Is(err, limit.ErrOwnerFull):
		return nil, q.spent
	case err != nil:
		return nil, q.full
	}
	return place, nil
}

// crowdedOut tells that somebody has lost a place to another owner.
func (q *quota) crowdedOut(owner limit.Owner) error {
	q.o.reached(q.full.limit, owner.Principal())
	return errCrowdedOut
}

// errCrowdedOut ends what has to make room for another owner. Its client may come back
// for it, and finds room once it holds less than others do.
var errCrowdedOut = mcp.RetryLaterf(mcp.CodeOverloaded, retryCrowdedOut, "ended to make room: the server is full, and you hold more than others; try again later")

// retryCrowdedOut is as Retry-After says for what is refused.
const retryCrowdedOut = 5 * time.Second
