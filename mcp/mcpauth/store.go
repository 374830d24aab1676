package mcpauth

import (
	"bytes"
	"context"
	"sync"
)

// Store stores the data of a client between runs: grants with their tokens, and registrations at
// authorization servers. Its values are not encrypted; anyone who can read them can act as the
// user. All methods are safe for concurrent use, by all processes that share the store.
type Store interface {
	// Load returns the value of the key, or nil if there is none. A value that
	// cannot be read is an error.
	Load(ctx context.Context, key string) ([]byte, error)
	// Update calls change with the value of the key, or nil if there is none, and stores its
	// result; a nil result deletes the value. Updates of one key exclude each other, in this
	// process and others. If change returns an error, Update keeps the value and returns the error.
	// The change may request a token from a server, and so take long. If Update fails for another
	// reason, the old value is kept.
	Update(ctx context.Context, key string, change func(old []byte) ([]byte, error)) error
}

// MemoryStore returns a store in memory, for the life of the process.
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
