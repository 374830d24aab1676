package tasks

import (
	"context"
	"sync"
)

// places are those of the tasks that this process has taken over and runs. One owner has at most
// half of them, unless it asks in Tasks.Run, or its task goes on after an answer.
type places struct {
	slots chan struct{} // one token for each place that is taken

	mu    sync.Mutex
	taken map[string]int // guarded by mu: by owner
}

func newPlaces(n int) *places {
	return &places{slots: make(chan struct{}, n), taken: make(map[string]int)}
}

// tryTake takes a place for a task of an owner if there is one. If not, more reports whether there
// may be one for another owner.
func (p *places) tryTake(owner string) (ok, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[owner] >= (cap(p.slots)+1)/2 {
		return false, true
	}
	select {
	case p.slots <- struct{}{}:
		p.taken[owner]++
		return true, true
	default:
		return false, false
	}
}

// take waits for a place for a task of an owner.
func (p *places) take(ctx context.Context, owner string) error {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken[owner]++
	return nil
}

// leave gives a place of an owner back.
func (p *places) leave(owner string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[owner]--; p.taken[owner] == 0 {
		delete(p.taken, owner)
	}
	<-p.slots
}
