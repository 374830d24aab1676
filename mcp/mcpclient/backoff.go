package mcpclient

import (
	"math/rand/v2"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/backoff"
)

// Pauses before a client reconnects to a server whose connections keep being lost.
const (
	minBackoff = 500 * time.Millisecond
	maxBackoff = time.Minute
	// A command that loses maxLosses connections within lossWindow is suspended: calls
	// fail, and it is not started again before suspension has passed. The suspension
	// ends once a connection has lasted for lossWindow.
	maxLosses  = 5
	lossWindow = time.Minute
	suspension = 2 * time.Minute
)

// lossHistory records the lost connections of one client.
type lossHistory struct {
	recent      []time.Time // within lossWindow, oldest first
	consecutive int         // losses since a connection lasted for lossWindow
	suspended   bool        // no connection has lasted for lossWindow since maxLosses
}

// add records the loss of a connection that lasted for the given time, or zero for a
// failed attempt to connect. It suspends a command that is lost too often.
func (f *lossHistory) add(now time.Time, lasted time.Duration, isCommand bool) {
	if lasted >= lossWindow {
		*f = lossHistory{}
	}
	for len(f.recent) > 0 && now.Sub(f.recent[0]) >= lossWindow {
		f.recent = f.recent[1:]
	}
	if len(f.recent) == 0 && !f.suspended {
		f.consecutive = 0
	}
	f.recent = append(f.recent, now)
	f.consecutive++
	f.suspended = f.suspended || isCommand && len(f.recent) >= maxLosses
}

// pause returns the pause before the next attempt. After the first loss it is zero.
func (f *lossHistory) pause() time.Duration { return reconnectPause(f.consecutive - 1) }

// reconnectPause returns the nth pause in a row with up to a quarter of jitter, and zero for
// n <= 0. The pauses double from minBackoff to maxBackoff.
func reconnectPause(n int) time.Duration {
	if n <= 0 {
		return 0
	}
	pause := backoff.Pause(n, minBackoff, maxBackoff)
	return pause + rand.N(pause/4)
}
