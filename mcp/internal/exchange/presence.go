package exchange

import (
	"sync/atomic"
	"time"
)

// Presence tells whether the client of a session is there: it has a message under way
// or a stream open. The zero value is one of a client that has not come yet. It is safe
// for concurrent use.
type Presence struct {
	open atomic.Int32 // messages and streams
	left atomic.Int64 // when the last of them ended, in nanoseconds
}

// Enter notes that a message or stream begins. It needs one Leave.
func (p *Presence) Enter() { p.open.Add(1) }

// Leave notes that it has ended.
func (p *Presence) Leave() {
	p.left.Store(time.Now().UnixNano())
	p.open.Add(-1)
}

// AbsentFor returns for how long the client has had neither a message under way nor a
// stream.
func (p *Presence) AbsentFor() time.Duration {
	if p.open.Load() > 0 {
		return 0
	}
	return time.Since(time.Unix(0, p.left.Load()))
}
