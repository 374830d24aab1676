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
	dir string
	key func(context.Context) ([]byte, error)

	mu    sync.Mutex
	store mcpauth.Store // guarded by mu; nil until it was opened
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

func (s *lazyStore) open(ctx context.Context) (mcpauth.Store, error) {
	key, err := s.key(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store == nil {
		s.store, err = mcpauth.FileStore(s.dir, key)
	}
	return s.store, err
}
