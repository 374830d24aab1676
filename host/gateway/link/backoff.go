package link

import "time"

// Pauses before a new attempt to connect.
const (
	minPause = 500 * time.Millisecond
	maxPause = time.Minute
	// A connection that fails maxFailures times within failureWindow is suspended: it is
	// retried every suspendedPause only, until one connection has lasted for
	// failureWindow.
	maxFailures    = 5
	failureWindow  = time.Minute
	suspendedPause = 2 * time.Minute
)

// backoff computes the pause before the next attempt from the recent failures of one
// connection.
type backoff struct {
	recent      []time.Time // within failureWindow, oldest first
	consecutive int         // since a connection lasted for failureWindow
	suspended   bool        // likewise
}

// add counts the failure of a connection that lasted for the given time, zero if it was
// not made. It returns the pause before the next attempt, and whether the connection is
// suspended.
func (f *backoff) add(now time.Time, lasted time.Duration) (pause time.Duration, suspended bool) {
	if lasted >= failureWindow {
		*f = backoff{}
	}
	for len(f.recent) > 0 && now.Sub(f.recent[0]) >= failureWindow {
		f.recent = f.recent[1:]
	}
	f.recent = append(f.recent, now)
	f.consecutive++
	f.suspended = f.suspended || len(f.recent) >= maxFailures
	if f.suspended {
		return suspendedPause, true
	}
	return min(minPause<<min(f.consecutive-1, 10), maxPause), false
}
