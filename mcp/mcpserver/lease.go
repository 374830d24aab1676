package mcpserver

import (
	"context"
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// lease is a place that a running call holds. While the call waits for its client it
// gives the place back; it takes one again before it goes on. It is safe for concurrent
// use: a call may wait for several answers at once and holds the place while it waits
// for none.
type lease struct {
	give func()
	take func() error // fails when the call is over

	mu      sync.Mutex
	waits   int           // answers that the call waits for; guarded by mu
	given   bool          // the place is given back; guarded by mu
	ended   bool          // guarded by mu
	retaken chan struct{} // closed when a take in progress is done; guarded by mu
}

var _ exchange.Clock = (*lease)(nil)

// slotLease is the lease of a slot that a call of a tool has acquired. It lasts no
// longer than ctx.
func slotLease(ctx context.Context, s *limit.Slots) *lease {
	return &lease{give: s.Release, take: func() error { return s.Return(ctx) }}
}

// endedLease is that of a request that has given its place back for good.
var endedLease = &lease{ended: true}

// placeLease returns the lease of the request's place among the running calls, or nil
// for a request that takes none.
func (r *Request) placeLease() *lease {
	if unmetered[r.Method] || r.call.ID.IsZero() {
		return nil
	}
	if l := r.lease.Load(); l != nil {
		return l
	}
	l := &lease{give: r.givePlace, take: r.retakePlace}
	if !r.lease.CompareAndSwap(nil, l) {
		l = r.lease.Load()
	}
	return l
}

func (r *Request) givePlace() {
	r.server.admission.running.SetWaiting(&r.running, true)
	r.freePlace()
}

func (r *Request) freePlace() { r.server.admission.gate.Leave(r.share, len(r.in.Message.Params)) }

func (r *Request) retakePlace() error {
	err := r.server.admission.gate.Return(&r.handlers, r.share, len(r.in.Message.Params))
	if err == nil {
		r.server.admission.running.SetWaiting(&r.running, false)
	}
	return err
}

// leavePlace gives the request's place back for good.
func (r *Request) leavePlace() {
	switch {
	case unmetered[r.Method]:
	case r.lease.CompareAndSwap(nil, endedLease):
		r.freePlace()
	default:
		r.lease.Load().end()
	}
}

// Hold implements exchange.Clock: the call begins to wait.
func (l *lease) Hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waits++; l.waits == 1 && !l.given && !l.ended {
		l.given = true
		l.give()
	}
}

// Release implements exchange.Clock: the call has one answer, and waits for its place
// if that was the last one.
func (l *lease) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits--
	for l.retaken != nil {
		retaken := l.retaken
		l.mu.Unlock()
		<-retaken
		l.mu.Lock()
	}
	if l.waits > 0 || l.ended || !l.given {
		return
	}
	retaken := make(chan struct{})
	l.retaken = retaken
	l.mu.Unlock()
	err := l.take()
	l.mu.Lock()
	l.retaken = nil
	close(retaken)
	switch {
	case err != nil:
	case l.waits > 0 || l.ended:
		l.give()
	default:
		l.given = false
	}
}

// end gives the place back for good.
func (l *lease) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.given && !l.ended {
		l.give()
	}
	l.ended = true
}
