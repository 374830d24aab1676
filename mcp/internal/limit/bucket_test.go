package limit_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

func TestBucketAdmitsABurstAndThenItsRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := limit.NewBuckets[string](mcp.Rate{PerSecond: 2, Burst: 3})
		for range 3 {
			if _, ok := b.Take("a"); !ok {
				t.Fatal("the burst is refused")
			}
		}
		wait, ok := b.Take("a")
		if ok || wait != 500*time.Millisecond {
			t.Errorf("got %v, %v, want refused for half a second", wait, ok)
		}
		if _, ok := b.Take("b"); !ok {
			t.Error("another owner is refused")
		}
		time.Sleep(wait)
		if _, ok := b.Take("a"); !ok {
			t.Error("refused after the time that was told")
		}
	})
}

func TestNilBucketAdmitsEverything(t *testing.T) {
	t.Parallel()
	none := limit.NewBuckets[string](mcp.Rate{PerSecond: -1})
	for range 1000 {
		if _, ok := none.Take("a"); !ok {
			t.Fatal("refused without a limit")
		}
	}
}

func TestOwnersWithAnEmptyBucketAreKeptAndOthersDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := limit.NewBuckets[int](mcp.Rate{PerSecond: 1, Burst: 1})
		for i := range 1000 {
			b.Take(i)
			time.Sleep(2 * time.Millisecond)
		}
		if _, ok := b.Take(999); ok {
			t.Error("the last owner has a new bucket")
		}
		if n := b.Len(); n == 0 || n > 1000 {
			t.Errorf("got %d buckets, want the ones in use", n)
		}
		time.Sleep(time.Minute)
		for i := range 3000 {
			b.Take(10_000 + i)
			time.Sleep(time.Second)
		}
		if n := b.Len(); n > 200 {
			t.Errorf("got %d buckets, want those that are full forgotten", n)
		}
	})
}
