package mcpserver

import "time"

// throttle limits a rate: a burst of events at once, then one in each interval. The zero
// value permits a whole burst. It is part of every Request, so it is small: one time
// instead of a token bucket. It is not safe for concurrent use.
type throttle struct {
	fullAt time.Duration // when a whole burst is permitted again, since clockStart; 0: now
}

// clockStart is the zero time of all throttles. It has a monotonic reading.
var clockStart = time.Now()

// delay returns how long the next event has to wait. It is at most 0 when the event is
// permitted now.
func (p *throttle) delay(burst int, every time.Duration) time.Duration {
	if p.fullAt == 0 {
		return 0
	}
	return p.fullAt - time.Duration(burst-1)*every - time.Since(clockStart)
}

// record counts an event that happens now.
func (p *throttle) record(every time.Duration) {
	if now := time.Since(clockStart); p.fullAt == 0 || p.fullAt < now {
		p.fullAt = now
	}
	p.fullAt += every
}
