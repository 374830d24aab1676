package limit

import (
	"cmp"
	"math"
	"time"

	"golang.org/x/time/rate"

	"github.com/fondaco/fondaco/mcp"
)

// Bucket is a token bucket. A nil Bucket is unbounded. It is safe for concurrent use.
type Bucket struct{ limiter *rate.Limiter }

// NewBucket returns a full bucket. It returns nil for a rate without a limit.
func NewBucket(r mcp.Rate) *Bucket {
	if r.PerSecond < 0 {
		return nil
	}
	burst := cmp.Or(r.Burst, int(math.Ceil(min(r.PerSecond, math.MaxInt32))))
	return &Bucket{rate.NewLimiter(rate.Limit(r.PerSecond), burst)}
}

// Take takes a token. If there is none, it returns the time until there will be one.
func (b *Bucket) Take() (wait time.Duration, ok bool) {
	if b == nil {
		return 0, true
	}
	now := time.Now()
	r := b.limiter.ReserveN(now, 1)
	if wait = r.DelayFrom(now); wait <= 0 {
		return 0, true
	}
	r.CancelAt(now)
	return wait, false
}

// full reports whether the bucket is equal to a new one.
func (b *Bucket) full() bool { return b.limiter.Tokens() >= float64(b.limiter.Burst()) }

// Buckets has one Bucket for each owner. A nil Buckets is unbounded. It is safe for
// concurrent use.
type Buckets[Owner comparable] struct{ table[Owner, *Bucket] }

// NewBuckets returns Buckets of the rate. It returns nil for a rate without a limit.
func NewBuckets[Owner comparable](r mcp.Rate) *Buckets[Owner] {
	if r.PerSecond < 0 {
		return nil
	}
	b := new(Buckets[Owner])
	b.make = func() *Bucket { return NewBucket(r) }
	b.idle = (*Bucket).full
	return b
}

// Take takes a token of an owner. If there is none, it returns the time until there will be
// one.
func (b *Buckets[Owner]) Take(owner Owner) (wait time.Duration, ok bool) {
	if b == nil {
		return 0, true
	}
	return b.get(owner).Take()
}
