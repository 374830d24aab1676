package mcpclient

import (
	"context"
	"sync"
	"time"
)

// lookup gets something from the server for all calls that need it: they wait for one
// request, and its outcome is kept, also a failure. The zero value has no outcome. All
// methods are safe for concurrent use.
type lookup[T any] struct {
	mu  sync.Mutex
	run *lookupRun[T] // guarded by mu: the last one, or nil
}

type lookupRun[T any] struct {
	began time.Time
	done  chan struct{}
	value T     // set before done is closed
	err   error // set before done is closed
}

// forget drops the outcome. Calls that wait for it still get it.
func (l *lookup[T]) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.run = nil
}

// do returns the outcome, of f if there is none or if it is older than maxAge. Zero means
// no maximum. It runs f on a goroutine of the client, with the values of ctx, and stops
// waiting for it when ctx ends.
func (l *lookup[T]) do(ctx context.Context, c *Client, maxAge time.Duration, f func(context.Context) (T, error)) (T, error) {
	run, first := l.current(maxAge)
	if first && !c.goTracked(func() {
		defer close(run.done)
		run.value, run.err = f(context.WithoutCancel(ctx))
	}) {
		run.err = ErrClosed
		close(run.done)
	}
	select {
	case <-run.done:
		return run.value, run.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// current returns the run to wait for, and whether the caller has to run it.
func (l *lookup[T]) current(maxAge time.Duration) (run *lookupRun[T], first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.run == nil || maxAge > 0 && time.Since(l.run.began) > maxAge {
		l.run = &lookupRun[T]{began: time.Now(), done: make(chan struct{})}
		first = true
	}
	return l.run, first
}
