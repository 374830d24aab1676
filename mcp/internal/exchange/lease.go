package exchange

import "sync"

// Lease is the slot that a running call occupies. The call releases its slot while it waits
// for its client and acquires a slot again before it continues. A call may wait for several
// answers at once: it has a slot while it waits for none. Lease is safe for concurrent use.
type Lease struct {
	release func()
	acquire func() error // fails when the call has ended

	mu        sync.Mutex
	pauses    int           // answers that the call waits for; guarded by mu
	released  bool          // the slot is released; guarded by mu
	ended     bool          // guarded by mu
	acquiring chan struct{} // closed when the running call of acquire returns; nil when none runs; guarded by mu
}

var _ Pausable = (*Lease)(nil)

// NewLease returns the lease of a call that has a slot. release releases the slot and must
// not block; acquire waits for a slot, and must fail when the call has ended.
func NewLease(release func(), acquire func() error) *Lease {
	return &Lease{release: release, acquire: acquire}
}

// EndedLease returns the lease of a call that needs no slot.
func EndedLease() *Lease { return &Lease{ended: true} }

// Pause implements Pausable: the call begins to wait.
func (l *Lease) Pause() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pauses++; l.pauses == 1 && !l.released && !l.ended {
		l.released = true
		l.release()
	}
}

// Resume implements Pausable: the call has received one answer. If the call waits for no
// other answer, Resume acquires a slot.
func (l *Lease) Resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pauses--
	for l.acquiring != nil {
		acquiring := l.acquiring
		l.mu.Unlock()
		<-acquiring
		l.mu.Lock()
	}
	if l.pauses > 0 || l.ended || !l.released || l.acquireLocked() != nil {
		return
	}
	if l.pauses > 0 || l.ended {
		l.release()
		return
	}
	l.released = false
}

// acquireLocked unlocks mu, acquires a slot and locks mu again.
func (l *Lease) acquireLocked() error {
	acquiring := make(chan struct{})
	l.acquiring = acquiring
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.acquiring = nil
		close(acquiring)
	}()
	return l.acquire()
}

// End releases the slot. Later calls of Pause and Resume have no effect.
func (l *Lease) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.released && !l.ended {
		l.release()
	}
	l.ended = true
}
