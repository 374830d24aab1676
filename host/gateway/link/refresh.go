package link

import (
	"context"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
)

// refreshes are the reads of the lists of a connection that are due, and who waits for them.
type refreshes struct {
	changed chan struct{} // one token: the lists may have changed
	awaited chan struct{} // one token: a request waits for the lists

	mu       sync.Mutex    // guards the fields below
	read     chan struct{} // closed when a read has ended
	deadline time.Time     // requests wait until then for a read; zero if none waits
	unread   bool          // the lists may have changed since they were read
}

func newRefreshes() refreshes {
	return refreshes{changed: make(chan struct{}, 1), awaited: make(chan struct{}, 1), read: make(chan struct{})}
}

// request makes Run read the lists again.
func (r *refreshes) request() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requestLocked()
}

// requestLocked is request for callers that hold mu.
func (r *refreshes) requestLocked() {
	r.unread = true
	signal(r.changed)
}

// await notes that a request waits for a read, and requests it unless the read comes by itself. It
// returns what to wait for, and until when.
func (r *refreshes) await(request bool) (read <-chan struct{}, deadline time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if request {
		r.requestLocked()
	}
	return r.read, r.awaitLocked()
}

// awaitDue is await for a read that is due. It reports false if none is.
func (r *refreshes) awaitDue() (read <-chan struct{}, deadline time.Time, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.unread {
		return nil, time.Time{}, false
	}
	return r.read, r.awaitLocked(), true
}

// awaitLocked notes that a request waits for a read of the lists, and returns until when. That has passed
// if the read before took longer than requests wait for it: a server that does not answer delays one
// list only. The caller holds mu.
func (r *refreshes) awaitLocked() (deadline time.Time) {
	if r.deadline.IsZero() {
		r.deadline = time.Now().Add(refreshWait)
	}
	signal(r.awaited)
	return r.deadline
}

// ended wakes all who wait for a read of the lists, which took a while.
func (r *refreshes) ended(took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.read)
	r.read = make(chan struct{})
	if r.deadline = (time.Time{}); took > refreshWait {
		r.deadline = time.Now()
	}
	r.unread = len(r.changed) > 0
}

// restBeforeRead returns how long to wait before the next read of the lists. If that is too long for
// the requests that wait for it, they go on at once.
func (r *refreshes) restBeforeRead(pace *RefreshPace) time.Duration {
	awaited := r.isAwaited()
	rest := pace.Rest(awaited)
	if awaited && rest > refreshWait {
		r.ended(0)
	}
	return rest
}

// isAwaited reports whether a request waits for a read of the lists.
func (r *refreshes) isAwaited() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Before(r.deadline)
}

// waitForRead waits for the end of a read, a deadline, or the end of ctx.
func waitForRead(ctx context.Context, read <-chan struct{}, deadline time.Time) {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-read:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// RequestRefresh makes Run read the lists again.
func (c *Conn) RequestRefresh() { c.refreshes.request() }

// BeginRefresh makes a ready or idle connection read its lists. The function that it returns
// waits for the end of the read, at most 5 seconds after it was first requested.
func (c *Conn) BeginRefresh() (wait func(context.Context)) {
	state, _ := c.state.current()
	if !state.IsUp() || c.state.isClosed() {
		return func(context.Context) {}
	}
	read, deadline := c.refreshes.await(state == host.Ready)
	release := func() {}
	if state == host.Idle { // it reads the lists when it is connected
		release = c.Hold()
	}
	return func(ctx context.Context) {
		defer release()
		waitForRead(ctx, read, deadline)
	}
}

// WaitForRefresh waits until a ready connection has read lists that may have changed, at
// most 5 seconds. It reports false at once if no read is due.
func (c *Conn) WaitForRefresh(ctx context.Context) bool {
	if state, _ := c.state.current(); state != host.Ready {
		return false
	}
	read, deadline, due := c.refreshes.awaitDue()
	if due {
		waitForRead(ctx, read, deadline)
	}
	return due
}
