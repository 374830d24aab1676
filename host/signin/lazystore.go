package signin

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"

	"github.com/fondaco/fondaco/mcp/mcpauth"
)

// lazyStore is a mcpauth.FileStore that is opened on first use, because a key is needed
// only where tokens are stored.
type lazyStore struct {
	dir       string
	keySource keySource

	mu      sync.Mutex
	attempt *openAttempt // the current or successful attempt; nil before the first and after a failure
}

// openAttempt is one attempt to open the store. All callers wait for it.
type openAttempt struct {
	done  chan struct{} // closed after the other fields are set
	store mcpauth.Store
	err   error
}

var _ mcpauth.Store = (*lazyStore)(nil)

func (s *lazyStore) Load(ctx context.Context, key string) ([]byte, error) {
	if s.isEmpty() {
		return nil, nil
	}
	store, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	return store.Load(ctx, key)
}

func (s *lazyStore) Update(ctx context.Context, key string, change func([]byte) ([]byte, error)) error {
	store, err := s.open(ctx)
	if err != nil {
		return err
	}
	return store.Update(ctx, key, change)
}

// isEmpty reports whether nothing was ever stored.
func (s *lazyStore) isEmpty() bool {
	entries, err := os.ReadDir(s.dir)
	return errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0
}

// open waits for the store. A keyring may ask the user to unlock it and takes no context,
// so the attempt goes on when ctx ends.
func (s *lazyStore) open(ctx context.Context) (mcpauth.Store, error) {
	o := s.startAttempt()
	select {
	case <-o.done:
		return o.store, o.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *lazyStore) startAttempt() *openAttempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attempt == nil {
		s.attempt = &openAttempt{done: make(chan struct{})}
		go s.runAttempt(s.attempt)
	}
	return s.attempt
}

func (s *lazyStore) runAttempt(o *openAttempt) {
	defer close(o.done)
	key, err := s.keySource.find(s.isEmpty())
	if err == nil {
		o.store, err = mcpauth.FileStore(s.dir, key)
	}
	if o.err = err; err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempt = nil
}
