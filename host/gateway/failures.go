package gateway

import "time"

// How long a line pauses before it is made again.
const (
	leastPause = 500 * time.Millisecond
	mostPause  = time.Minute
	// A line that fails tooMany times within a window is parked, and tried again
	// after parkedPause alone, until it has lasted for a window.
	tooMany     = 5
	window      = time.Minute
	parkedPause = 2 * time.Minute
)

// failures are those of one line that are not forgotten yet.
type failures struct {
	recent []time.Time // within the window, oldest first
	inRow  int         // since it has lasted for a window
	parked bool        // since then
}

// add counts a failure of a line that was there, if at all, for some time. It
// returns how long to pause, and whether the line is parked.
func (f *failures) add(now time.Time, lasted time.Duration) (pause time.Duration, parked bool) {
	if lasted >= window {
		*f = failures{}
	}
	for len(f.recent) > 0 && now.Sub(f.recent[0]) >= window {
		f.recent = f.recent[1:]
	}
	f.recent = append(f.recent, now)
	f.inRow++
	f.parked = f.parked || len(f.recent) >= tooMany
	if f.parked {
		return parkedPause, true
	}
	return min(leastPause<<min(f.inRow-1, 10), mostPause), false
}
