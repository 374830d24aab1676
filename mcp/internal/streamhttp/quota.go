package streamhttp

import (
	"errors"
	"net/http"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// quota bounds the sessions or the event streams of an endpoint (see newSessions and
// newStreams). Anonymous owners have no number of their own: when it is full, limit.Pool
// says which owner loses one. It is safe for concurrent use.
type quota struct {
	o               *Options
	pool            *limit.Pool
	full, ownerFull *refusal // if the quota is full; if the share of the owner is full
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

// take takes a place for an owner, which needs one Release. If there is none it returns full
// or ownerFull. When the place is later given to another owner, evict is called, without a
// lock; evict must call evicted.
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

// takeStream takes a place for the event stream that a request opens, and one for the headers of
// the request, which stay as long as the stream. release frees both. If another owner needs a
// place later, end is called with the cause, without a lock.
func (q *quota) takeStream(r *http.Request, owner limit.Owner, end func(cause error)) (release func(), refused *refusal) {
	headers, refused := q.o.keep(owner, exchange.SizeOfHeader(r.Header), end)
	if refused != nil {
		return nil, refused
	}
	place, refused := q.take(owner, func() { end(q.evicted(owner)) })
	if refused != nil {
		headers.Release()
		return nil, refused
	}
	return func() {
		headers.Release()
		place.Release()
	}, nil
}

// evicted reports that a place of an owner was given to another one, and returns the error
// for its session or stream.
func (q *quota) evicted(owner limit.Owner) error {
	q.o.reached(q.full.limit, owner.Principal())
	return errEvicted
}

// errEvicted ends a session or stream whose place was given to another owner. Its client can
// open a new one, and gets a place once it has fewer than other owners.
var errEvicted = mcp.PeerRetryLaterf(mcp.CodeOverloaded, retryAfter, "ended to make room: the server is full, and you hold more than others; try again later")
