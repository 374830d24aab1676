package exchange

import "sync"

// Lease is a place that a running call holds. While the call waits for its client it
// gives the place back; it takes one again before it goes on. It is safe for concurrent
// use: a call may wait for several answers at once and holds the place while it waits
// for none.
type Lease struct {
	give func()
	take func() error // fails when the call is over

	mu      sync.Mutex
	waits   int           // answers that the call waits for; guarded by mu
	given   bool          // the place is given back; guarded by mu
	ended   bool          // guarded by mu
	retaken chan struct{} // closed when a take in progress is done; guarded by mu
}

var _ Clock = (*Lease)(nil)

// NewLease returns the lease of a place that a call has just taken. give gives the place
// back at once; take waits for it, and fails once the call is over.
func NewLease(give func(), take func() error) *Lease { return &Lease{give: give, take: take} }

// EndedLease returns the lease of a call that has given its place back for good.
func EndedLease() *Lease { return &Lease{ended: true} }

// Hold implements Clock: the call begins to wait.
func (l *Lease) Hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waits++; l.waits == 1 && !l.given && !l.ended {
		l.given = true
		l.give()
	}
}

// Release implements Clock: the call has one answer, and waits for its place
// if that was the last one.
func (l *Lease) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits--
	for l.retaken != nil {
		retaken := l.retaken
		l.mu.Unlock()
		<-retaken
		l.mu.Lock()
	}
	if l.waits > 0 || l.ended || !l.given || l.retakeLocked() != nil {
		return
	}
	if l.waits > 0 || l.ended {
		l.give()
		return
	}
	l.given = false
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
	if !l.given && !l.ended {
		l.give()
	}
	l.ended = true
}
