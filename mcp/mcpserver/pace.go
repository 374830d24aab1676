package mcpserver

import "time"

// pace lets a burst go at once, and then one every so often. The zero pace has its
// whole burst.
type pace struct {
	full time.Time // when a whole burst may go again
}

// wait returns for how long the next one has to wait, which is not above zero when
// it may go now.
func (p *pace) wait(burst int, every time.Duration) time.Duration {
	return time.Until(p.full.Add(-time.Duration(burst-1) * every))
}

// take counts one that goes now.
func (p *pace) take(every time.Duration) {
	if now := time.Now(); p.full.Before(now) {
		p.full = now
	}
	p.full = p.full.Add(every)
}
