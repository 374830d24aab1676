package mcpauth

import (
	"context"
	"sync"
)

// shares lets callers who want the same wait for one who does it. The zero value is
// ready; it is safe for concurrent use.
type shares struct {
	mu    sync.Mutex
	under map[string]*share
}

// share is one thing that is being done.
type share struct {
	done   chan struct{} // closed when err is set
	err    error
	cancel context.CancelFunc

	waiting int // guarded by shares.mu
}

// do runs f, or waits for the run that is under way under the same key, and returns
// its outcome. The run ends early only when nobody waits for it any more, and do
// does not return before it has ended.
func (s *shares) do(ctx context.Context, key string, f func(context.Context) error) error {
	r := s.join(ctx, key, f)
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		s.leave(key, r)
		return context.Cause(ctx)
	}
}

func (s *shares) join(ctx context.Context, key string, f func(context.Context) error) *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.under[key]; r != nil {
		r.waiting++
		return r
	}
	if s.under == nil {
		s.under = make(map[string]*share)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &share{done: make(chan struct{}), cancel: cancel, waiting: 1}
	s.under[key] = r
	go func() {
		defer cancel()
		defer close(r.done)
		defer s.forget(key, r)
		r.err = f(ctx)
	}()
	return r
}

// leave cancels a run that nobody waits for, and waits for its end.
func (s *shares) leave(key string, r *share) {
	s.mu.Lock()
	r.waiting--
	last := r.waiting == 0
	if last && s.under[key] == r {
		delete(s.under, key)
	}
	s.mu.Unlock()
	if last {
		r.cancel()
		<-r.done
	}
}

func (s *shares) forget(key string, r *share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.under[key] == r {
		delete(s.under, key)
	}
}
