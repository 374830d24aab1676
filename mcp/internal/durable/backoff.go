package durable

import (
	"math/rand/v2"
	"time"
)

// Spread returns a random time between half of d and one and a half of it, so that replicas do not
// scan at the same time.
func Spread(d time.Duration) time.Duration { return d/2 + rand.N(d+1) }

// Backoff returns how long to wait after an attempt has failed, the first of which is 1: the
// first wait is about base, each next one is twice as long, up to maxWait. It is random between half
// of that and all, so that work that has failed together is not run again together.
func Backoff(attempt int, base, maxWait time.Duration) time.Duration {
	wait := base
	for range attempt - 1 {
		if wait >= maxWait/2 {
			wait = maxWait
			break
		}
		wait *= 2
	}
	wait = min(wait, maxWait)
	return wait/2 + rand.N(wait/2+1)
}
