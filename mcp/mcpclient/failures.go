package mcpclient

import (
	"math/rand/v2"
	"time"
)

// How long a client pauses before it makes a connection anew that keeps being lost.
const (
	leastPause = 500 * time.Millisecond
	mostPause  = time.Minute
	// A server that is lost tooMany times within a window is parked, if it is a
	// process of ours: it is started anew after parkedPause alone, and calls fail
	// until then. That ends when one has lasted for a window.
	tooMany     = 5
	window      = time.Minute
	parkedPause = 2 * time.Minute
)

// failures are those of a connection that are not forgotten yet.
type failures struct {
	recent []time.Time // within the window, oldest first
	inRow  int         // since one has lasted for a window
	parked bool        // since then
}

// add counts the loss of a connection that was there, if at all, for some time, and
// parks a process of ours that is lost too often.
func (f *failures) add(now time.Time, lasted time.Duration, ours bool) {
	if lasted >= window {
		*f = failures{}
	}
	for len(f.recent) > 0 && now.Sub(f.recent[0]) >= window {
		f.recent = f.recent[1:]
	}
	if len(f.recent) == 0 && !f.parked {
		f.inRow = 0
	}
	f.recent = append(f.recent, now)
	f.inRow++
	f.parked = f.parked || ours && len(f.recent) >= tooMany
}

// pause returns how long to wait before the next attempt. There is no pause after the
// first failure.
func (f *failures) pause() time.Duration { return backoff(f.inRow - 1) }

// backoff returns the nth pause in a row, with some jitter, and none before the first.
func backoff(n int) time.Duration {
	if n <= 0 {
		return 0
	}
	pause := min(leastPause<<min(n-1, 10), mostPause)
	return pause + rand.N(pause/4)
}
