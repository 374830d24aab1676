package state_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host/state"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestSharedStorePassesItsCheck(t *testing.T) {
	t.Parallel()
	mcptest.CheckStore(t, func(*testing.T) (one, two mcp.Store) {
		values, marks, bus := new(mcpserver.MemoryStore), new(mcpserver.MemoryStore), new(mcpserver.MemoryBus)
		return state.Share(values, marks, bus, "a"), state.Share(values, marks, bus, "a")
	})
}

// silentBus loses every message.
type silentBus struct{ mcp.Bus }

func (silentBus) Publish(context.Context, string, []byte) error { return nil }

func TestChangesOfOneHostAreKnownToTheOthers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		bus    mcp.Bus
		within time.Duration
	}{
		"by a message":      {new(mcpserver.MemoryBus), 0},
		"without a message": {silentBus{new(mcpserver.MemoryBus)}, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				values, marks := new(mcpserver.MemoryStore), new(mcpserver.MemoryStore)
				one, two := state.Share(values, marks, test.bus, "a"), state.Share(values, marks, test.bus, "a")
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					two.Watch(ctx, func(err error) { t.Errorf("got %v", err) })
				}()
				synctest.Wait()
				before := two.Version("a")
				must(t, one.Put(t.Context(), "b/1", []byte("x"), 0))
				time.Sleep(test.within)
				synctest.Wait()
				if got := two.Version("a"); got != before {
					t.Errorf("got %q after a change of another section, want %q", got, before)
				}
				must(t, one.Put(t.Context(), "a/1", []byte("x"), 0))
				time.Sleep(test.within)
				synctest.Wait()
				if got := two.Version("a"); got == before {
					t.Error("the change is not known")
				}
				cancel()
				<-ended
			})
		})
	}
}

// brokenStore fails while it is broken.
type brokenStore struct {
	mcp.Store
	broken atomic.Bool
}

var errBroken = errors.New("connection refused")

func (s *brokenStore) Get(ctx context.Context, key string) ([]byte, bool, error) {
	if s.broken.Load() {
		return nil, false, errBroken
	}
	return s.Store.Get(ctx, key)
}

func TestLossOfTheStoreIsReportedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		values := &brokenStore{Store: new(mcpserver.MemoryStore)}
		s := state.Share(values, values, new(mcpserver.MemoryBus), "a")
		must(t, s.Put(t.Context(), "a/1", []byte("x"), 0))
		must(t, s.Refresh(t.Context()))
		before := s.Version("a")
		values.broken.Store(true)
		var said []error
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.Watch(ctx, func(err error) { said = append(said, err) })
		}()
		time.Sleep(10 * time.Second)
		values.broken.Store(false)
		time.Sleep(4 * time.Second)
		cancel()
		<-ended
		if len(said) != 2 || !errors.Is(said[0], errBroken) || said[1] != nil || s.Version("a") != before {
			t.Errorf("got %v, version %q, want one error, its end, and version %q", said, s.Version("a"), before)
		}
	})
}
