package quota_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/testengine"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/quota"
	"github.com/fondaco/fondaco/mcp/store/pgstore"
	"github.com/fondaco/fondaco/mcp/store/redisstore"
)

// Real time and real engines: three replicas, each with a connection of its own.
func TestReplicasKeepARateTogetherOverAnEngine(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	logger := slog.New(slog.DiscardHandler)
	t.Run("Redis", func(t *testing.T) {
		t.Parallel()
		url := testengine.Redis(t).URL
		keepTogether(t, func() (closingStore, error) {
			return redisstore.Open(t.Context(), url, &redisstore.Options{Namespace: "quota", Logger: logger})
		})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		url := testengine.Postgres(t).URL
		keepTogether(t, func() (closingStore, error) {
			return pgstore.Open(t.Context(), url, &pgstore.Options{Logger: logger})
		})
	})
}

type closingStore interface {
	mcp.Store
	Close() error
}

func keepTogether(t *testing.T, open func() (closingStore, error)) {
	var replicas []*quota.Group
	for range 3 {
		s, err := open()
		if err != nil {
			t.Fatal(err)
		}
		g := quota.New(quota.Options{Store: s, Server: "shop", Secret: []byte("secret"), Logger: slog.New(slog.DiscardHandler)})
		t.Cleanup(func() {
			if err := g.Close(context.Background()); err != nil {
				t.Error(err)
			}
			_ = s.Close()
		})
		replicas = append(replicas, g)
	}
	for _, r := range replicas {
		for r.Replicas() < 3 { // until they know of each other
			time.Sleep(100 * time.Millisecond)
		}
	}
	var admitted int
	var want float64
	for n := range 5 { // a busy machine delays calls and replicas, but not in each measurement
		k := key(mcp.Rate{PerSecond: 200, Burst: 100})
		k.Principal = principal(fmt.Sprint("user ", n))
		if admitted, want = takeTogether(replicas, k); near(admitted, want) {
			return
		}
		t.Logf("admitted %d calls, want %v", admitted, want)
	}
	t.Errorf("admitted %d calls, want %v", admitted, want)
}

// takeTogether makes 1,000 calls a second for 10 seconds, and returns how many are admitted and how
// many ought to be.
func takeTogether(replicas []*quota.Group, k quota.Key) (admitted int, want float64) {
	begin, n := time.Now(), 0
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for time.Since(begin) < 10*time.Second {
		<-tick.C
		for ; n < int(time.Since(begin)/time.Millisecond); n++ {
			at := 0 // nine of ten calls
			if n%10 == 0 {
				at = 1 + n/10%2
			}
			if _, ok := replicas[at].Take(k); ok {
				admitted++
			}
		}
	}
	return admitted, 100 + 200*time.Since(begin).Seconds()
}
