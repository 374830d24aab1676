package durable

import (
	"math/rand/v2"
	"time"
)

// Spread returns a random time between half of d and one and a half of it, so that replicas do not
// scan at the same time.
func Spread(d time.Duration) time.Duration { return d/2 + rand.N(d+1) }
