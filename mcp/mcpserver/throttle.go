package mcpserver

import "time"

// pace lets a burst go at once, and then one every so often. The zero pace has its
// whole burst. It is a part of each request, so it has to be small.
type pace struct {
	full time.Duration // when a whole burst may go again, after clockStart; zero: now
}

// clockStart is where the clock of paces begins. It is monotonic.
var clockStart = time.Now()

// wait returns for how long the next one has to wait, which is not above zero when
// it may go now.
func (p *pace) wait(burst int, every time.Duration) time.Duration {
	if p.full == 0 {
		return 0
	}
	return p.full - time.Duration(burst-1)*every - time.Since(clockStart)
}

// take counts one that goes now.
func (p *pace) take(every time.Duration) {
	if now := time.Since(clockStart); p.full == 0 || p.full < now {
		p.full = now
	}
	p.full += every
}
