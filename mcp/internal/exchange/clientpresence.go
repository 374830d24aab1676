package exchange

import (
	"sync/atomic"
	"time"
)

// Presence records whether the client of a session is connected: it has a message in flight
// or a stream open. The zero value stands for a client that has never been connected. It is
// safe for concurrent use.
type Presence struct {
	open atomic.Int32 // messages and streams
	left atomic.Int64 // when the last of them ended, in nanoseconds
}

// Enter records the start of a message or stream. It needs one Leave.
func (p *Presence) Enter() { p.open.Add(1) }

// Leave records the end of a message or stream.
func (p *Presence) Leave() {
	p.left.Store(time.Now().UnixNano())
	p.open.Add(-1)
}

// AbsentFor returns how long the client has had neither a message in flight nor a stream. It
// is 0 while the client is connected.
func (p *Presence) AbsentFor() time.Duration {
	if p.open.Load() > 0 {
		return 0
	}
	return time.Since(time.Unix(0, p.left.Load()))
}
