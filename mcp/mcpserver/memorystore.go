package mcpserver

import (
	"bytes"
	"cmp"
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

// smallValue is the size up to which values are bounded by their number alone, so
// that what fits in it can always be changed.
const smallValue = 1 << 10

// largestValue is the size of the largest value that a Store takes.
const largestValue = 1 << 20

// MemoryStore is the Store of a single process. It holds up to 100,000 entries and
// MaxBytes of large values; when it is full, further writes fail. The zero value
// is ready for use.
type MemoryStore struct {
	// MaxBytes bounds the values of more than 1 KiB, together. Default: 256 MiB.
	MaxBytes int

	mu      sync.Mutex
	entries map[string]stored // guarded by mu
	large   int               // guarded by mu: bytes of large values
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

func (s *MemoryStore) maxBytes() int { return cmp.Or(s.MaxBytes, 256<<20) }

// weight is what a value counts among the large ones.
func weight(value []byte) int {
	if len(value) <= smallValue {
		return 0
	}
	return len(value)
}

// set writes an entry. The caller holds mu.
func (s *MemoryStore) set(key string, value []byte, ttl time.Duration) error {
	if s.lacksRoom(key, value) != nil {
		s.sweep()
	}
	if err := s.lacksRoom(key, value); err != nil {
		return err
	}
	if s.entries == nil {
		s.entries = make(map[string]stored)
	}
	e := stored{value: slices.Clone(value)}
	if ttl > 0 {
		e.expires = time.Now().Add(ttl)
	}
	s.remove(key)
	s.entries[key] = e
	s.large += weight(value)
	return nil
}

// lacksRoom says why an entry cannot be written. The caller holds mu.
func (s *MemoryStore) lacksRoom(key string, value []byte) error {
	old, there := s.entries[key]
	more := weight(value) - weight(old.value)
	switch {
	case len(value) > largestValue:
		return fmt.Errorf("store: a value of %d bytes; want at most %d", len(value), largestValue)
	case !there && len(s.entries) >= maxStored:
		return fmt.Errorf("store: %d entries, which is the limit; want Options.Store for more", maxStored)
	case more > 0 && s.large+more > s.maxBytes():
		return fmt.Errorf("store: %d bytes of %d are taken, and %d more are wanted; want MemoryStore.MaxBytes or Options.Store for more", s.large, s.maxBytes(), more)
	}
	return nil
}

// sweep removes what has expired. The caller holds mu.
func (s *MemoryStore) sweep() {
	now := time.Now()
	for key, e := range s.entries {
		if e.expired(now) {
			s.remove(key)
		}
	}
}

// remove removes an entry, if there is one. The caller holds mu.
func (s *MemoryStore) remove(key string) {
	s.large -= weight(s.entries[key].value)
	delete(s.entries, key)
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
	s.remove(key)
	return nil
}
