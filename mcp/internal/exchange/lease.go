package exchange

import "sync"

// Lease is a place that a running call holds. While the call waits for its client it
// gives the place back; it takes one again before it goes on. It is safe for concurrent
// use: a call may wait for several answers at once and holds the place while it waits
// for none.
type Lease struct {
	giveBack func()
	take     func() error // fails when the call is over

	mu       sync.Mutex
	pauses   int           // answers that the call waits for; guarded by mu
	returned bool          // the place is given back; guarded by mu
	ended    bool          // guarded by mu
	retaken  chan struct{} // closed when a take in progress is done; guarded by mu
}

var _ Pausable = (*Lease)(nil)

// NewLease returns the lease of a place that a call has just taken. give gives the place
// back at once; take waits for it, and fails once the call is over.
func NewLease(give func(), take func() error) *Lease { return &Lease{giveBack: give, take: take} }

// EndedLease returns the lease of a call that has given its place back for good.
func EndedLease() *Lease { return &Lease{ended: true} }

// Pause implements Clock: the call begins to wait.
func (l *Lease) Pause() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pauses++; l.pauses == 1 && !l.returned && !l.ended {
		l.returned = true
		l.giveBack()
	}
}

// Resume implements Clock: the call has one answer, and waits for its place
// if that was the last one.
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

// retakeLocked takes the place again, without the lock.
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

// End gives the place back for good.
func (l *Lease) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.returned && !l.ended {
		l.giveBack()
	}
	l.ended = true
}
