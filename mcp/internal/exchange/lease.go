package exchange

import "sync"

// Lease is the place of one call among the running ones. While the call waits for its
// client, the place is given back; the call takes a place again before it continues. A call
// may wait for several answers at once: it has a place while it waits for none. Lease is
// safe for concurrent use.
type Lease struct {
	giveBack func()
	take     func() error // fails when the call has ended

	mu       sync.Mutex
	pauses   int           // answers that the call waits for; guarded by mu
	returned bool          // the place was given back; guarded by mu
	ended    bool          // guarded by mu
	retaken  chan struct{} // closed when the running call of take returns; guarded by mu
}

var _ Pausable = (*Lease)(nil)

// NewLease returns the lease of a place that a call has just taken. give returns the place
// and does not wait; take waits for a place, and fails once the call has ended.
func NewLease(give func(), take func() error) *Lease { return &Lease{giveBack: give, take: take} }

// EndedLease returns the lease of a call that has no place and takes none.
func EndedLease() *Lease { return &Lease{ended: true} }

// Pause implements Pausable: the call begins to wait.
func (l *Lease) Pause() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pauses++; l.pauses == 1 && !l.returned && !l.ended {
		l.returned = true
		l.giveBack()
	}
}

// Resume implements Pausable: the call has one answer. If it waits for no other, Resume
// waits for a place.
func (l *Lease) Resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pauses--
	for l.retaken != nil {
		retaken := l.retaken
		l.mu.Unlock()
		<-retaken
		l.mu.Lock()
	}
	if l.pauses > 0 || l.ended || !l.returned || l.retakeLocked() != nil {
		return
	}
	if l.pauses > 0 || l.ended {
		l.giveBack()
		return
	}
	l.returned = false
}

// retakeLocked releases mu, takes a place again and locks mu.
func (l *Lease) retakeLocked() error {
	retaken := make(chan struct{})
	l.retaken = retaken
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.retaken = nil
		close(retaken)
	}()
	return l.take()
}

// End gives the place back. Later calls of Pause and Resume change nothing.
func (l *Lease) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.returned && !l.ended {
		l.giveBack()
	}
	l.ended = true
}
