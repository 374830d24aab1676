package mcpserver

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// maxStored bounds the entries of a MemoryStore. When it is full and nothing has
// expired, writes fail: an entry that says that something was used must not make
// room for others.
const maxStored = 100_000

// MemoryStore is the Store of a single process. It holds up to 100,000 entries;
// when it is full, writes of further ones fail. The zero value is ready for use.
type MemoryStore struct {
	mu      sync.Mutex
	entries map[string]stored // guarded by mu
}

type stored struct {
	value   []byte
	expires time.Time // zero for never
}

var _ mcp.Store = (*MemoryStore)(nil)

// live returns the entry under a key. The caller holds mu.
func (s *MemoryStore) live(key string) (stored, bool) {
	e, ok := s.entries[key]
	return e, ok && !e.expired(time.Now())
}

func (e stored) expired(now time.Time) bool { return !e.expires.IsZero() && !now.Before(e.expires) }

// set writes an entry. The caller holds mu.
func (s *MemoryStore) set(key string, value []byte, ttl time.Duration) error {
	now := time.Now()
	if _, there := s.entries[key]; !there && len(s.entries) >= maxStored {
		for k, e := range s.entries {
			if e.expired(now) {
				delete(s.entries, k)
			}
		}
		if len(s.entries) >= maxStored {
			return fmt.Errorf("store: %d entries, which is the limit; want Options.Store for more", maxStored)
		}
	}
	if s.entries == nil {
		s.entries = make(map[string]stored)
	}
	e := stored{value: slices.Clone(value)}
	if ttl > 0 {
		e.expires = now.Add(ttl)
	}
	s.entries[key] = e
	return nil
}

// Get implements mcp.Store.
func (s *MemoryStore) Get(_ context.Context, key string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.live(key)
	return slices.Clone(e.value), ok, nil
}

// Put implements mcp.Store.
func (s *MemoryStore) Put(_ context.Context, key string, value []byte, ttl time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set(key, value, ttl)
}

// Create implements mcp.Store.
func (s *MemoryStore) Create(_ context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.live(key); ok {
		return false, nil
	}
	err := s.set(key, value, ttl)
	return err == nil, err
}

// Swap implements mcp.Store.
func (s *MemoryStore) Swap(_ context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.live(key); !ok || !bytes.Equal(e.value, old) {
		return false, nil
	}
	err := s.set(key, value, ttl)
	return err == nil, err
}

// Delete implements mcp.Store.
func (s *MemoryStore) Delete(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.entries, key)
	return nil
}
