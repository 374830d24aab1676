// Package drain counts running work, so that a shutdown can refuse new work and wait for
// the work that runs.
package drain

import (
	"context"
	"sync"
)

// Group counts running work: requests, and goroutines. Work is in one of two classes:
// Enter counts new work, which is refused once the Group is closed; Join counts work that
// running work needs in order to finish, which is accepted until the closed Group is
// empty. A closed Group that is empty stays empty.
//
// The zero Group is open and ready for use. It must not be copied. All methods are safe
// for concurrent use.
type Group struct {
	mu      sync.Mutex
	running int           // guarded by mu
	empty   chan struct{} // guarded by mu: made by Close, closed when the closed Group is empty
}

// Enter counts new work, which needs one Leave. It reports false and counts nothing if
// the Group is closed.
func (g *Group) Enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.empty != nil {
		return false
	}
	g.running++
	return true
}

// Join counts work on behalf of running work, which needs one Leave. It reports false and
// counts nothing if the Group is closed and empty.
func (g *Group) Join() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.empty != nil && g.running == 0 {
		return false
	}
	g.running++
	return true
}

// Leave ends work that Enter or Join has counted.
func (g *Group) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running == 0 {
		panic("drain: Leave without Enter or Join")
	}
	if g.running--; g.running == 0 && g.empty != nil {
		close(g.empty)
	}
}

// Go runs f on a new goroutine, which it counts like Join. It reports false and does not
// run f if the Group is closed and empty.
func (g *Group) Go(f func()) bool {
	if !g.Join() {
		return false
	}
	go func() {
		defer g.Leave()
		f()
	}()
	return true
}

// Close refuses new work from now on. It does not wait. Later calls have no effect.
func (g *Group) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closeLocked()
}

func (g *Group) closeLocked() {
	if g.empty != nil {
		return
	}
	g.empty = make(chan struct{})
	if g.running == 0 {
		close(g.empty)
	}
}

// Closed reports whether new work is refused.
func (g *Group) Closed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.empty != nil
}

// Running returns how much work is counted now.
func (g *Group) Running() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running
}

// Drain closes the Group and returns nil once it is empty. If ctx ends earlier, Drain
// returns the cause of ctx; the work continues and another call can wait for it.
func (g *Group) Drain(ctx context.Context) error {
	g.mu.Lock()
	g.closeLocked()
	empty := g.empty
	g.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-empty: // at the same time
		return nil
	default:
		return context.Cause(ctx)
	}
}
