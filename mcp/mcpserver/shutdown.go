package mcpserver

import (
	"cmp"
	"context"
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

// Shutdown ends the server in an orderly way: new requests are refused, running
// ones finish, subscriptions end with their result, then every connection and
// session is closed. Detached work, such as a task, is waited for too,
// but what it asks gets no answer any more: questions end with ErrShutdown. When
// ctx ends first what still runs is cancelled, detached work gets one
// more second to take note of it, and Shutdown returns the cause of ctx. A server
// that has been shut down stays so.
func (s *Server) Shutdown(ctx context.Context) error {
	s.Drain()
	s.bindings().streamable.Refuse()
	s.endOpen(ErrShutdown)
	s.hub.StopWatchFuncs()
	s.hub.CloseBus()
	s.sessions.refuse()
	err := s.drain.wait(ctx)
	err = cmp.Or(err, s.detached.wait(ctx))
	s.endLife(ErrShutdown)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelGrace)
	defer cancel()
	_ = s.detached.wait(last)
	closing := ctx
	if ctx.Err() != nil {
		closing = last
	}
	err = cmp.Or(err, s.parked.Shutdown(closing))
	for _, session := range s.sessions.all() {
		err = cmp.Or(err, session.WaitIdle(ctx))
	}
	err = cmp.Or(err, s.bindings().streamable.Shutdown(ctx), s.bindings().eventStream.Shutdown(ctx))
	for _, session := range s.sessions.all() {
		session.End()
	}
	return cmp.Or(err, s.hub.FlushBus(ctx))
}

// drain counts what runs, so that a shutdown can wait for it.
type drain struct {
	mu       sync.Mutex
	running  int           // guarded by mu
	closing  bool          // guarded by mu
	finished chan struct{} // closed when it has begun and nothing runs
}

// ended reports whether the shutdown has begun.
func (d *drain) ended() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closing
}

// enter counts a request in, which needs a leave. It fails once the shutdown has
// begun.
func (d *drain) enter(method string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing {
		return exchange.ShuttingDown(method)
	}
	d.running++
	return nil
}

// start runs something on a goroutine that is waited for like a request. It does
// nothing when nobody waits any more.
func (d *drain) start(run func()) {
	d.mu.Lock()
	if d.closing && d.running == 0 {
		d.mu.Unlock()
		return
	}
	d.running++
	d.mu.Unlock()
	go func() {
		defer d.leave()
		run()
	}()
}

func (d *drain) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running--
	if d.closing && d.running == 0 {
		close(d.finished)
	}
}

func (d *drain) wait(ctx context.Context) error {
	d.mu.Lock()
	if !d.closing {
		d.closing, d.finished = true, make(chan struct{})
		if d.running == 0 {
			close(d.finished)
		}
	}
	d.mu.Unlock()
	select {
	case <-d.finished:
		return nil
	default:
	}
	select {
	case <-d.finished:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
