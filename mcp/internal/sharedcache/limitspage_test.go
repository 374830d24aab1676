package sharedcache

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/internal/resultcache"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	claim.Limit(t, "results in a shared cache", 256, claim.Bytes(maxStored))
	claim.Limit(t, "waiting for the store of a shared cache", storeTimeout, storePause)
	claim.Limit(t, "invalidations that the store of a shared cache does not have yet", maxPending, flushPause, storePause)
	claim.Limit(t, "lifetime of a cached result", resultcache.MaxTTL)
}

func TestInvalidationsThatAreNotWrittenAreBounded(t *testing.T) {
	t.Parallel()
	token := 0
	s, err := New(Params{
		Key:           bytes.Repeat([]byte("k"), MinKey),
		Authorization: func() (string, bool) { token++; return fmt.Sprint(token), true },
		Context:       context.Background(),
		Go:            func(func()) bool { return false },
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		s.Clear()
	}
	if s.missedAt.IsZero() {
		t.Error("results whose invalidation was given up are not stale")
	}
	if got := len(s.copyPending()); got != maxPending {
		t.Errorf("got %d, want %d", got, maxPending)
	}
}
