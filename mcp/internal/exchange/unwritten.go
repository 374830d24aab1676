package exchange

import (
	"context"
	"sync"
)

// unwritten counts the requests of a connection whose reply is not written yet.
type unwritten struct {
	mu    sync.Mutex
	count int
	none  chan struct{} // closed when count is zero; nil when nobody waits
}

func (u *unwritten) add() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.count++
}

func (u *unwritten) done() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.count--; u.count == 0 && u.none != nil {
		close(u.none)
		u.none = nil
	}
}

// wait returns nil once the count is zero, or the cause of ctx.
func (u *unwritten) wait(ctx context.Context) error {
	u.mu.Lock()
	if u.count == 0 {
		u.mu.Unlock()
		return nil
	}
	if u.none == nil {
		u.none = make(chan struct{})
	}
	none := u.none
	u.mu.Unlock()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
