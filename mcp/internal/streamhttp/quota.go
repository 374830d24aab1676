package streamhttp

import (
	"errors"
	"net/http"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// quota bounds the sessions or the event streams of an endpoint. When it is full,
// limit.Pool says which owner loses one. It is safe for concurrent use.
type quota struct {
	o               *Options
	pool            *limit.Pool
	full, ownerFull *refusal // the refusals when the quota, and when the share of the owner is full
}

// newQuota returns a quota that reports the two given limits.
func newQuota(o *Options, b limit.PoolBounds, whole, share mcp.Limit) *quota {
	full := refuse(http.StatusServiceUnavailable, "the server is full: try again later")
	spent := refuse(http.StatusTooManyRequests, "too many at once: end some or try again later")
	full.limit, spent.limit = whole, share
	return &quota{o: o, pool: limit.NewPool(b), full: full, ownerFull: spent}
}

// newStreamQuota returns the quota of the long-lived event streams.
func newStreamQuota(o *Options) *quota {
	return newQuota(o, limit.PoolBounds{Total: int64(o.maxStreams()), Principal: int64(o.principalStreams())},
		mcp.LimitStreams, mcp.LimitPrincipalStreams)
}

// take takes a place for an owner, which needs one Release, or returns full or
// ownerFull. It calls evict, without a lock, when the place goes to another owner; evict
// has to call evicted.
func (q *quota) take(owner limit.Owner, evict func()) (*limit.Place, *refusal) {
	place, err := q.pool.Take(owner, 1, evict)
	switch {
	case errors.Is(err, limit.ErrOwnerFull):
		return nil, q.ownerFull
	case err != nil:
		return nil, q.full
	}
	return place, nil
}

// evicted reports that an owner has lost a place to another one, and returns the error.
func (q *quota) evicted(owner limit.Owner) error {
	q.o.reached(q.full.limit, owner.Principal())
	return errEvicted
}

// errEvicted is the end of a session or stream whose place went to another owner. Its
// client can open it again, and gets a place once it holds less than other owners.
var errEvicted = mcp.RetryLaterf(mcp.CodeOverloaded, retryEvicted, "ended to make room: the server is full, and you hold more than others; try again later")

// retryEvicted is the same as retryAfter.
const retryEvicted = 5 * time.Second
