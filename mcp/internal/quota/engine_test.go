package quota_test

import (
	"context"
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
	for deadline := time.Now().Add(20 * time.Second); replicas[0].Replicas() < 3; {
		if time.Now().After(deadline) {
			t.Fatalf("%d replicas, want 3", replicas[0].Replicas())
		}
		<-time.After(100 * time.Millisecond)
	}
	k := key(mcp.Rate{PerSecond: 200, Burst: 100})
	begin, admitted := time.Now(), 0
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for n := 0; time.Since(begin) < 10*time.Second; n++ {
		<-tick.C
		at := 0 // nine of ten calls
		if n%10 == 0 {
			at = 1 + n/10%2
		}
		if _, ok := replicas[at].Take(k); ok {
			admitted++
		}
	}
	if want := 100 + 200*time.Since(begin).Seconds(); !near(admitted, want) {
		t.Errorf("admitted %d calls, want %v", admitted, want)
	}
	t.Logf("admitted %d calls", admitted)
}
