package mcpauth

import (
	"bytes"
	"context"
	"sync"
)

// Store keeps what a client holds between runs: grants with their tokens, and its
// registrations at authorization servers. What it is given is not encrypted, and
// whoever can read it can act as the user. All methods are safe for concurrent use,
// by all processes that share it.
type Store interface {
	// Load returns the value under the key, nil when there is none. What is there
	// and cannot be read is an error, never nil.
	Load(ctx context.Context, key string) ([]byte, error)
	// Update replaces the value under the key by what change makes of it, nil if
	// there is none, while nobody else updates it, in this process or another. To
	// return nil deletes it. An error of change leaves the value as it was and is
	// returned. The change may ask a server for a token, and take as long as that.
	// When Update fails for another reason the old value is still there.
	Update(ctx context.Context, key string, change func(old []byte) ([]byte, error)) error
}

// MemoryStore returns a store that ends with the process.
func MemoryStore() Store {
	return &memoryStore{values: make(map[string][]byte), locks: make(map[string]chan struct{})}
}

type memoryStore struct {
	mu     sync.Mutex
	values map[string][]byte
	locks  map[string]chan struct{} // of updates; full while there is one
}

var _ Store = (*memoryStore)(nil)

func (s *memoryStore) Load(_ context.Context, key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.values[key]), nil
}

func (s *memoryStore) Update(ctx context.Context, key string, change func([]byte) ([]byte, error)) error {
	lock := s.lock(key)
	select {
	case lock <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-lock }()
	old, _ := s.Load(ctx, key)
	value, err := change(old)
	if err != nil {
		return err
	}
	s.set(key, bytes.Clone(value))
	return nil
}

func (s *memoryStore) lock(key string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.locks[key] == nil {
		s.locks[key] = make(chan struct{}, 1)
	}
	return s.locks[key]
}

func (s *memoryStore) set(key string, value []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if value == nil {
		delete(s.values, key)
		return
	}
	s.values[key] = value
}
