package exchange

import (
	"context"
	"sync"
)

// Limits of the requests of one connection that run or whose reply is not written yet, and
// of the bytes of such replies. When a limit is reached nothing more is read from the
// connection, so that a client that does not read its replies cannot send more requests.
const (
	maxUnwritten      = 2 * maxRunning
	maxUnwrittenBytes = 64 << 20
)

// unwritten counts the requests of a connection whose reply is not written yet.
type unwritten struct {
	mu      sync.Mutex
	count   int
	bytes   int           // of replies that wait to be written
	changed chan struct{} // closed at the next decrease; nil when nobody waits
}

func (u *unwritten) add() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.count++
}

// queued records that a reply of that size waits to be written.
func (u *unwritten) queued(size int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bytes += size
}

// written records that count replies, of the given total size, were written or dropped.
func (u *unwritten) written(count, size int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.count -= count
	u.bytes -= size
	if u.changed != nil {
		close(u.changed)
		u.changed = nil
	}
}

// len returns the number of requests whose reply is not written yet.
func (u *unwritten) len() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.count
}

// awaitNone waits until every reply is written.
func (u *unwritten) awaitNone(ctx context.Context) error {
	return u.wait(ctx, func() bool { return u.count == 0 })
}

// awaitRoom waits until both counts are below their limits.
func (u *unwritten) awaitRoom(ctx context.Context) error {
	return u.wait(ctx, func() bool { return u.count < maxUnwritten && u.bytes < maxUnwrittenBytes })
}

// wait returns nil once reached returns true, or the cause of ctx.
func (u *unwritten) wait(ctx context.Context, reached func() bool) error {
	for {
		u.mu.Lock()
		if reached() {
			u.mu.Unlock()
			return nil
		}
		if u.changed == nil {
			u.changed = make(chan struct{})
		}
		changed := u.changed
		u.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
