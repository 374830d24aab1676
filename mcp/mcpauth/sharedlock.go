package mcpauth

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

const (
	// sharedLockLife is how long a lock outlives its process, and sharedLockRenewal how often it is
	// renewed.
	sharedLockLife    = 6 * time.Second
	sharedLockRenewal = 2 * time.Second
	// sharedLockPoll is how often a process that waits looks whether a lock is free.
	sharedLockPoll = 100 * time.Millisecond
)

// sharedLock is a lock in an mcp.Store, which its process renews until it is released.
type sharedLock struct {
	values mcp.Store
	name   string
	owner  []byte       // a text that no other lock has
	since  atomic.Int64 // Unix time in ns: the store got the lock or its last renewal after that

	ctx    context.Context    // of the renewal
	cancel context.CancelFunc // ends it
	ended  chan struct{}      // closed when it has ended
}

// lock waits until no other process has the lock, at most maxLockWait.
func (s sharedStore) lock(ctx context.Context, name string) (*sharedLock, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, maxLockWait, fmt.Errorf("%w for %v", errLocked, maxLockWait))
	defer cancel()
	l := &sharedLock{values: s.values, name: name, owner: []byte(rand.Text()), ended: make(chan struct{})}
	tick := time.NewTicker(sharedLockPoll)
	defer tick.Stop()
	for {
		locked, err := l.try(waiting)
		switch {
		case locked:
			l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
			go l.renew()
			return l, nil
		case waiting.Err() != nil:
			return nil, fmt.Errorf("lock: %w", context.Cause(waiting))
		case err != nil:
			return nil, fmt.Errorf("lock: %w", err) // it expires if the store has it nevertheless
		}
		select {
		case <-tick.C:
		case <-waiting.Done():
			return nil, fmt.Errorf("lock: %w", context.Cause(waiting))
		}
	}
}

func (l *sharedLock) try(ctx context.Context) (locked bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	l.since.Store(time.Now().UnixNano())
	return l.values.Create(ctx, l.name, l.owner, sharedLockLife)
}

// hold makes sure that no other process gets the lock for the next four seconds.
func (l *sharedLock) hold(ctx context.Context) error {
	if l.age() > sharedLockRenewal && (!l.extend(ctx) || l.age() > sharedLockRenewal) {
		return errSlowStore
	}
	return nil
}

var errSlowStore = fmt.Errorf("lock: the store did not keep it: want one that answers within %v", sharedLockRenewal)

func (l *sharedLock) age() time.Duration { return time.Since(time.Unix(0, l.since.Load())) }

// renew keeps the lock until ctx ends. If another process has it, the value that is then stored
// does not replace one of that process, see sharedStore.replace.
func (l *sharedLock) renew() {
	defer close(l.ended)
	tick := time.NewTicker(sharedLockRenewal)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = l.extend(l.ctx)
		case <-l.ctx.Done():
			return
		}
	}
}

// extend makes the life of the lock begin anew, and reports whether this process has it.
func (l *sharedLock) extend(ctx context.Context) (ours bool) {
	ctx, cancel := context.WithTimeout(ctx, sharedLockRenewal)
	defer cancel()
	began := time.Now().UnixNano()
	ours, err := l.values.Swap(ctx, l.name, l.owner, l.owner, sharedLockLife)
	if !ours || err != nil {
		return false
	}
	l.since.Store(began)
	return true
}

// release gives the lock back. If that fails, it expires.
func (l *sharedLock) release() {
	l.cancel()
	<-l.ended
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), sharedLockRenewal)
	defer cancel()
	if l.extend(ctx) {
		_ = l.values.Delete(ctx, l.name)
	}
}
