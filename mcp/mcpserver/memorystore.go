package mcpserver

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// maxStored limits the entries of a MemoryStore. Writes fail when it is full, because
// evicting a marker of a used state would permit a second use.
const maxStored = 100_000

// isMarker reports whether an entry is the marker of a used state. Markers have a limit of
// their own, so that rounds of anonymous clients cannot use the room of tasks.
func isMarker(key string) bool { return strings.HasPrefix(key, usedState) }

// smallValue is the size up to which only the number of values is limited, so that an
// existing small value can always be replaced.
const smallValue = 1 << 10

// The sizes that a Store has to accept.
const (
	longestKey   = 256
	largestValue = 1 << 20
)

// MemoryStore is the Store of a single process. It holds up to 100,000 entries, as many
// marks of used states (AskOptions.SingleUse), and MaxBytes of large values. When it is
// full, further writes fail until entries expire or are deleted. The zero value is ready for use. Its methods are safe for
// concurrent use.
type MemoryStore struct {
	// MaxBytes bounds the values of more than 1 KiB, together. Default: 256 MiB.
	MaxBytes int

	mu         sync.Mutex
	entries    map[string]*storeEntry // guarded by mu
	expiring   expiryHeap             // guarded by mu: the entries that expire
	largeTotal int                    // guarded by mu: bytes of large values
	markers    int                    // guarded by mu: how many of the entries are
}

// storeEntry is an entry. Its value is never modified, only replaced.
type storeEntry struct {
	key     string
	value   []byte
	expires time.Time // zero for never
	index   int       // in the heap, when it expires
}

var _ mcp.Store = (*MemoryStore)(nil)

// expiryHeap orders entries by their expiry, the first one at the top.
type expiryHeap []*storeEntry

func (h expiryHeap) Len() int           { return len(h) }
func (h expiryHeap) Less(i, j int) bool { return h[i].expires.Before(h[j].expires) }

func (h expiryHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *expiryHeap) Push(e any) {
	entry := e.(*storeEntry)
	entry.index = len(*h)
	*h = append(*h, entry)
}

func (h *expiryHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return e
}

// live returns the entry with the key that has not expired, or nil. The caller holds mu.
func (s *MemoryStore) live(key string) *storeEntry {
	if e := s.entries[key]; e != nil && !e.expired(time.Now()) {
		return e
	}
	return nil
}

func (e *storeEntry) expired(now time.Time) bool {
	return !e.expires.IsZero() && !now.Before(e.expires)
}

func (s *MemoryStore) maxBytes() int { return cmp.Or(s.MaxBytes, 256<<20) }

// largeBytes returns the size of a value that counts to MaxBytes: 0 for a small one.
func largeBytes(value []byte) int {
	if len(value) <= smallValue {
		return 0
	}
	return len(value)
}

// set writes an entry. The caller holds mu.
func (s *MemoryStore) set(key string, value []byte, ttl time.Duration) error {
	if ttl < 0 {
		return fmt.Errorf("store: a time to live of %v; want 0 or more", ttl)
	}
	s.removeExpired()
	if err := s.checkRoom(key, value); err != nil {
		return err
	}
	if s.entries == nil {
		s.entries = make(map[string]*storeEntry)
	}
	s.remove(key)
	e := &storeEntry{key: key, value: slices.Clone(value)}
	if ttl > 0 {
		e.expires = time.Now().Add(ttl)
		heap.Push(&s.expiring, e)
	}
	s.entries[key] = e
	s.largeTotal += largeBytes(value)
	if isMarker(key) {
		s.markers++
	}
	return nil
}

func isStoreKey(key string) bool {
	return key != "" && len(key) <= longestKey && !strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' })
}

// errStoreFull is the error of a write for which there is no room. The errors that wrap it say
// why, which is not for clients.
var errStoreFull = errors.New("store: ")

// checkRoom returns why an entry cannot be written, or nil. The caller holds mu.
func (s *MemoryStore) checkRoom(key string, value []byte) error {
	old := s.entries[key]
	more := largeBytes(value)
	held := len(s.entries) - s.markers
	if isMarker(key) {
		held = s.markers
	}
	if old != nil {
		more -= largeBytes(old.value)
	}
	switch {
	case !isStoreKey(key):
		return fmt.Errorf("store: key %q; want 1 to %d bytes of printable ASCII", key[:min(len(key), longestKey)], longestKey)
	case len(value) > largestValue:
		return fmt.Errorf("store: a value of %d bytes; want at most %d", len(value), largestValue)
	case old == nil && held >= maxStored:
		return fmt.Errorf("%w%d entries, which is the limit; want Options.Store for more", errStoreFull, maxStored)
	case more > 0 && s.largeTotal+more > s.maxBytes():
		return fmt.Errorf("%w%d bytes of %d are taken, and %d more are wanted; want MemoryStore.MaxBytes or Options.Store for more", errStoreFull, s.largeTotal, s.maxBytes(), more)
	}
	return nil
}

// removeExpired removes the entries that have expired. Each is removed once, in
// logarithmic time, so a write costs the same however full the store is. The caller
// holds mu.
func (s *MemoryStore) removeExpired() {
	now := time.Now()
	for len(s.expiring) > 0 && s.expiring[0].expired(now) {
		s.remove(s.expiring[0].key)
	}
}

// remove removes an entry, if there is one. The caller holds mu.
func (s *MemoryStore) remove(key string) {
	e := s.entries[key]
	if e == nil {
		return
	}
	if isMarker(key) {
		s.markers--
	}
	if !e.expires.IsZero() {
		heap.Remove(&s.expiring, e.index)
	}
	s.largeTotal -= largeBytes(e.value)
	delete(s.entries, key)
}

// Get implements mcp.Store.
func (s *MemoryStore) Get(_ context.Context, key string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.live(key)
	if e == nil {
		return nil, false, nil
	}
	return slices.Clone(e.value), true, nil
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
	if s.live(key) != nil {
		return false, nil
	}
	err := s.set(key, value, ttl)
	return err == nil, err
}

// Swap implements mcp.Store.
func (s *MemoryStore) Swap(_ context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.live(key); e == nil || !bytes.Equal(e.value, old) {
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

// List implements mcp.Store. Each call looks at all entries.
func (s *MemoryStore) List(_ context.Context, prefix, after string, limit int) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	now := time.Now()
	for key, e := range s.entries {
		if strings.HasPrefix(key, prefix) && key > after && !e.expired(now) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys[:min(len(keys), max(limit, 0))], nil
}

// Prefixes of keys in the Store.
const (
	storedState = "ask.state."
	usedState   = "ask.used."
)
