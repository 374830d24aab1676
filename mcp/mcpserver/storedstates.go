package mcpserver

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// storedStates keep the states of calls that are too large to send to clients in the Store
// until they expire. They count to the bytes that the server keeps for their owner, as entries
// that are not in use. All methods are safe for concurrent use.
type storedStates struct {
	store mcp.Store
	bytes *limit.KeptBytes

	mu      sync.Mutex
	kept    *list.List // guarded by mu: of *keptState, in the order of expiry
	evicted []string   // guarded by mu: ids of states that have to be deleted
}

// keptState is one stored state.
type keptState struct {
	id      string
	expires time.Time
	place   *limit.Place  // guarded by the mu of storedStates
	element *list.Element // guarded by that mu; nil before the state is in the list
	evicted bool          // guarded by that mu
}

func newStoredStates(s mcp.Store, bytes *limit.KeptBytes) *storedStates {
	return &storedStates{store: s, bytes: bytes, kept: list.New()}
}

// put stores a state for an owner. It fails with limit.ErrPoolFull or limit.ErrOwnerFull if
// there is no room, and with the error of the Store.
func (s *storedStates) put(ctx context.Context, owner limit.Owner, id string, state []byte, ttl time.Duration) error {
	s.releaseExpired()
	k := &keptState{id: id, expires: time.Now().Add(ttl)}
	place, err := s.bytes.Take(owner, len(state), func() { s.evict(k) })
	s.deleteEvicted(ctx)
	if err != nil {
		return err
	}
	if err := s.store.Put(ctx, storedState+id, state, ttl); err != nil {
		place.Release()
		return err
	}
	if !s.add(k, place) {
		// deleteEvicted of another goroutine may have deleted it before it was there.
		_ = s.store.Delete(ctx, storedState+id)
		return limit.ErrPoolFull
	}
	return nil
}

// add adds a state that is stored now. It reports false if the state was evicted meanwhile.
func (s *storedStates) add(k *keptState, place *limit.Place) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.evicted {
		return false
	}
	k.place, k.element = place, s.kept.PushBack(k)
	place.SetIdle(true)
	return true
}

// get returns a state.
func (s *storedStates) get(ctx context.Context, id string) (state []byte, found bool, err error) {
	return s.store.Get(ctx, storedState+id)
}

// releaseExpired frees the room of the states that have expired.
func (s *storedStates) releaseExpired() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for first := s.kept.Front(); first != nil; first = s.kept.Front() {
		k := first.Value.(*keptState)
		if now.Before(k.expires) {
			return
		}
		s.kept.Remove(first)
		k.element = nil
		k.place.Release()
	}
}

// evict removes a state whose room is needed. A MemoryStore, where it takes that room, loses it
// at once; another Store, which may be slow, with the next deleteEvicted.
func (s *storedStates) evict(k *keptState) {
	if m, ok := s.store.(*MemoryStore); ok {
		_ = m.Delete(context.Background(), storedState+k.id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k.evicted = true
	if k.element != nil {
		s.kept.Remove(k.element)
		k.element = nil
	}
	s.evicted = append(s.evicted, k.id)
}

// deleteEvicted deletes the states that were evicted. A state whose deletion fails expires
// later.
func (s *storedStates) deleteEvicted(ctx context.Context) {
	s.mu.Lock()
	ids := s.evicted
	s.evicted = nil
	s.mu.Unlock()
	for _, id := range ids {
		_ = s.store.Delete(ctx, storedState+id)
	}
}
