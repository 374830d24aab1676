package limit

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// Slots limits the calls that run at once. Other calls wait, first in, first out; calls that
// return have precedence. A nil Slots is unbounded. It is
// safe for concurrent use.
type Slots struct {
	mu        sync.Mutex
	free      int       // guarded by mu
	returning list.List // guarded by mu: of chan struct{}
	waiting   list.List // guarded by mu: of chan struct{}
}

// NewSlots returns that many free slots.
func NewSlots(n int) *Slots { return &Slots{free: n} }

// Acquire takes a slot for a new call, which needs one Release. It waits for a slot at most
// for the time wait, or without a limit if that is 0. It fails with ErrWhole or the cause of
// ctx.
func (s *Slots) Acquire(ctx context.Context, wait time.Duration) error {
	if s == nil {
		return nil
	}
	return s.take(ctx, wait, &s.waiting)
}

// Return takes a slot for a call that had one and has given it back while it waited for
// its client: it goes before calls that are new, and waits as long as ctx lasts.
func (s *Slots) Return(ctx context.Context) error {
	if s == nil {
		return nil
	}
	return s.take(ctx, 0, &s.returning)
}

func (s *Slots) take(ctx context.Context, wait time.Duration, queue *list.List) error {
	s.mu.Lock()
	if s.free > 0 {
		s.free--
		s.mu.Unlock()
		return nil
	}
	given := make(chan struct{})
	place := queue.PushBack(given)
	s.mu.Unlock()
	var late <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-given:
		return nil
	case <-late:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-given:
		return nil
	default:
		queue.Remove(place)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return ErrWhole
}

// Release gives a slot back.
func (s *Slots) Release() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, queue := range []*list.List{&s.returning, &s.waiting} {
		if next := queue.Front(); next != nil {
			close(queue.Remove(next).(chan struct{}))
			return
		}
	}
	s.free++
}
