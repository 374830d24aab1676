package signin

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"

	"github.com/fondaco/fondaco/mcp/mcpauth"
)

// sealed is a mcpauth.FileStore that looks for its key when it is needed: where
// nothing is kept there need not be one.
type sealed struct {
	dir  string
	keys keys

	mu      sync.Mutex
	opening *opening // or what has come of it; nil before, and after a failure
}

// opening is one attempt, for all who wait for it.
type opening struct {
	done  chan struct{} // closed when the others are set
	store mcpauth.Store
	err   error
}

var _ mcpauth.Store = (*sealed)(nil)

func (s *sealed) Load(ctx context.Context, key string) ([]byte, error) {
	if s.isEmpty() {
		return nil, nil
	}
	store, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	return store.Load(ctx, key)
}

func (s *sealed) Update(ctx context.Context, key string, change func([]byte) ([]byte, error)) error {
	store, err := s.open(ctx)
	if err != nil {
		return err
	}
	return store.Update(ctx, key, change)
}

// isEmpty reports whether nothing was ever kept.
func (s *sealed) isEmpty() bool {
	entries, err := os.ReadDir(s.dir)
	return errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0
}

// open waits for the store. A keyring may ask the user to unlock it, and knows no
// context: who does not want to wait any longer leaves it to the next.
func (s *sealed) open(ctx context.Context) (mcpauth.Store, error) {
	o := s.begin()
	select {
	case <-o.done:
		return o.store, o.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *sealed) begin() *opening {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opening == nil {
		s.opening = &opening{done: make(chan struct{})}
		go s.run(s.opening)
	}
	return s.opening
}

func (s *sealed) run(o *opening) {
	defer close(o.done)
	key, err := s.keys.find(s.isEmpty())
	if err == nil {
		o.store, err = mcpauth.FileStore(s.dir, key)
	}
	if o.err = err; err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opening = nil
}
