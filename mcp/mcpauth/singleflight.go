package mcpauth

import (
	"context"
	"log/slog"
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// callGroup runs a function once for all callers with the same key that wait for
// it. It is safe for concurrent use.
type callGroup struct {
	logger *slog.Logger // gets the panics of user code

	mu      sync.Mutex
	running map[string]*sharedCall
}

// sharedCall is one running call of a function, for which several callers can wait.
type sharedCall struct {
	done   chan struct{} // closed when err is set
	err    error
	cancel context.CancelFunc

	waiting int // guarded by callGroup.mu
}

// do calls f, or waits for the running call with the same key, and returns its
// error. The call is cancelled when no caller waits for it any more; the last caller
// returns after it has ended.
func (s *callGroup) do(ctx context.Context, key string, f func(context.Context) error) error {
	r := s.join(ctx, key, f)
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		s.release(key, r)
		return context.Cause(ctx)
	}
}

func (s *callGroup) join(ctx context.Context, key string, f func(context.Context) error) *sharedCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.running[key]; r != nil {
		r.waiting++
		return r
	}
	if s.running == nil {
		s.running = make(map[string]*sharedCall)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &sharedCall{done: make(chan struct{}), cancel: cancel, waiting: 1}
	s.running[key] = r
	go func() {
		defer cancel()
		defer close(r.done)
		defer s.forget(key, r)
		r.err = s.contained(ctx, f)
	}()
	return r
}

// contained calls f. A panic of user code, such as a Store or a function of a grant, is its
// error, because it would end the process on the goroutine of the call.
func (s *callGroup) contained(ctx context.Context, f func(context.Context) error) error {
	err := usercode.Run(func() error { return f(ctx) })
	if _, ok := err.(*usercode.Panic); ok {
		s.logger.LogAttrs(ctx, slog.LevelError, "authorization panicked", usercode.Attrs(err)...)
	}
	return err
}

// release cancels a call that no other caller waits for, and waits for its end.
func (s *callGroup) release(key string, r *sharedCall) {
	s.mu.Lock()
	r.waiting--
	last := r.waiting == 0
	if last && s.running[key] == r {
		delete(s.running, key)
	}
	s.mu.Unlock()
	if last {
		r.cancel()
		<-r.done
	}
}

func (s *callGroup) forget(key string, r *sharedCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[key] == r {
		delete(s.running, key)
	}
}
