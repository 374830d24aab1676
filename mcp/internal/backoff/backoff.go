// Package backoff has the pauses between attempts.
package backoff

import (
	"math/rand/v2"
	"time"
)

// Pause returns the pause after a number of attempts that have failed: first after one, then
// each twice as long as the one before, up to longest. After none it is zero.
func Pause(failures int, first, longest time.Duration) time.Duration {
	if failures <= 0 {
		return 0
	}
	pause := first
	for range min(failures-1, 63) {
		if pause >= longest/2 {
			return longest
		}
		pause *= 2
	}
	return min(pause, longest)
}

// Random returns a random time between half of pause and all of it, so that what has failed
// together is not tried again together.
func Random(pause time.Duration) time.Duration { return pause/2 + rand.N(pause/2+1) }
