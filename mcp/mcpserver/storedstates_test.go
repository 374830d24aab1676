package mcpserver

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// slowStore is a Store whose writes of one key wait.
type slowStore struct {
	mcp.Store
	slow string
	wait chan struct{}
}

func (s *slowStore) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if key == s.slow {
		<-s.wait
	}
	return s.Store.Put(ctx, key, value, ttl)
}

// A state loses its place while the Store writes it, and another call deletes it before it is there.
func TestStateThatLosesItsPlaceWhileItIsWrittenIsDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size = 100
		bytes := limit.NewKeptBytes(4 * size)
		memory := new(MemoryStore)
		store := &slowStore{Store: memory, slow: storedState + "slow", wait: make(chan struct{})}
		states := newStoredStates(store, bytes)
		owner := func() limit.Owner {
			return limit.OwnerOf(mcp.PrincipalAnonymous, netip.Addr{}, limit.NewMember())
		}
		done := make(chan error)
		go func() { done <- states.put(t.Context(), owner(), "slow", make([]byte, size), time.Hour) }()
		synctest.Wait()
		for range 3 {
			if _, err := bytes.Take(owner(), size, func() { t.Error("evicted") }); err != nil {
				t.Fatal(err)
			}
		}
		if err := states.put(t.Context(), owner(), "other", make([]byte, size), time.Hour); err != nil {
			t.Fatal(err)
		}
		close(store.wait)
		if err := <-done; !errors.Is(err, limit.ErrPoolFull) {
			t.Errorf("got %v, want %v", err, limit.ErrPoolFull)
		}
		if _, found, _ := memory.Get(t.Context(), storedState+"slow"); found {
			t.Error("the Store keeps a state that does not count")
		}
		if held := bytes.Held(); held != 4*size {
			t.Errorf("%d bytes count, want %d", held, 4*size)
		}
	})
}
