package quota_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/quota"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// readOnly is a Store whose writes fail while its reads work.
type readOnly struct {
	mcpserver.MemoryStore
	fails atomic.Bool
}

func (s *readOnly) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if s.fails.Load() {
		return errors.New("the store is read-only")
	}
	return s.MemoryStore.Put(ctx, key, value, ttl)
}

// A failure here means that each replica has the whole rate, because it reads no records of the others.
func TestReplicasDivideTheRateWhileTheStoreCanOnlyBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := new(readOnly)
		var all []replica
		for range 4 {
			g := quota.New(quota.Options{Store: store, Server: "shop", Secret: []byte("secret"), Logger: slog.New(slog.DiscardHandler)})
			t.Cleanup(func() { _ = g.Close(context.Background()) })
			all = append(all, replica{Group: g})
		}
		time.Sleep(10 * time.Second)
		k, even := key(mcp.Rate{PerSecond: 100}), demands(1000, .25, .25, .25, .25)
		call(t, 10*time.Second, k, even, all)
		store.fails.Store(true)
		call(t, 10*time.Second, k, even, all)
		if got := call(t, 10*time.Second, k, even, all); !near(got, 1000) {
			t.Errorf("admitted %d calls in 10 s, want 1000", got)
		}
	})
}
