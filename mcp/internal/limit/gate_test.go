package limit_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

func TestMain(m *testing.M) { leak.Main(m) }

func bounds(calls int) limit.Bounds { return limit.Bounds{Calls: calls, Bytes: 1 << 20} }

// entering lets a call in on a goroutine of its own, which tells of the outcome.
func entering(g *limit.Gate[string], share *limit.Share, owner string, done func(error)) {
	go func() { done(g.Enter(context.Background(), share, 0, func() string { return owner })) }()
	synctest.Wait()
}

func TestCallsBeyondTheTotalLimitWaitInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := limit.NewGate[string](bounds(1), bounds(10), time.Minute)
		if err := g.Enter(t.Context(), nil, 0, nil); err != nil {
			t.Fatal(err)
		}
		entered := false
		entering(g, nil, "a", func(err error) { entered = err == nil })
		if entered {
			t.Error("a second call is in beside the first")
		}
		g.Leave(nil, 0)
		synctest.Wait()
		if !entered {
			t.Error("the second call is not in although the first has left")
		}
	})
}

func TestOwnersAreAdmittedInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := limit.NewGate[string](bounds(1), bounds(10), time.Minute)
		_ = g.Enter(t.Context(), nil, 0, nil)
		var mu sync.Mutex
		var order []string
		for _, owner := range []string{"greedy", "greedy", "greedy", "modest"} {
			entering(g, nil, owner, func(error) {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, owner)
			})
		}
		for range 5 {
			g.Leave(nil, 0)
			synctest.Wait()
		}
		if want := []string{"greedy", "modest", "greedy", "greedy"}; !slices.Equal(order, want) {
			t.Errorf("got in the order %v, want %v", order, want)
		}
	})
}

func TestFullQueueDropsFromTheLongestOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := limit.NewGate[string](bounds(1), bounds(2), time.Minute)
		_ = g.Enter(t.Context(), nil, 0, nil)
		refused := make(chan error, 4)
		note := func(err error) {
			if err != nil {
				refused <- err
			}
		}
		entering(g, nil, "greedy", note)
		entering(g, nil, "greedy", note)
		entering(g, nil, "modest", note)
		if err := <-refused; !errors.Is(err, limit.ErrWhole) || len(refused) > 0 {
			t.Errorf("got %v and %d more, want one call refused for the whole", err, len(refused))
		}
		for range 3 {
			g.Leave(nil, 0)
			synctest.Wait()
		}
		if len(refused) > 0 {
			t.Errorf("got %v, want the others let in", <-refused)
		}
	})
}

func TestFullShareDoesNotExcludeOtherCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := limit.NewGate[string](bounds(10), bounds(10), time.Second)
		share := limit.NewShare(bounds(1))
		_ = g.Enter(t.Context(), share, 0, nil)
		var late error
		entering(g, share, "greedy", func(err error) { late = err })
		entered := false
		entering(g, limit.NewShare(bounds(1)), "modest", func(err error) { entered = err == nil })
		if !entered {
			t.Error("a call of another share waits")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !errors.Is(late, limit.ErrShare) {
			t.Errorf("got %v after the longest wait, want %v", late, limit.ErrShare)
		}
	})
}

func TestBytesAreBoundedLikeCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := limit.NewGate[string](limit.Bounds{Calls: 10, Bytes: 100}, bounds(10), 0)
		who := func() string { return "a" }
		if err := g.Enter(t.Context(), nil, 1000, who); err != nil {
			t.Errorf("got %v, want a large call let in alone", err)
		}
		if err := g.Enter(t.Context(), nil, 1, who); !errors.Is(err, limit.ErrWhole) {
			t.Errorf("got %v beside it, want %v", err, limit.ErrWhole)
		}
		g.Leave(nil, 1000)
		if err := g.Enter(t.Context(), nil, 1, who); err != nil {
			t.Errorf("got %v behind it, want nil", err)
		}
	})
}

func TestCancelledCallIsRemovedFromTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := limit.NewGate[string](bounds(1), bounds(1), time.Hour)
		_ = g.Enter(t.Context(), nil, 0, nil)
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		if err := g.Enter(ctx, nil, 0, func() string { return "a" }); err != gone {
			t.Errorf("got %v, want the cause of its context", err)
		}
		entered := false
		entering(g, nil, "b", func(err error) { entered = err == nil })
		g.Leave(nil, 0)
		synctest.Wait()
		if !entered {
			t.Error("a place in the line was lost")
		}
	})
}

func TestEveryConcurrentCallIsAnsweredAndNoSlotIsLost(t *testing.T) {
	t.Parallel()
	g := limit.NewGate[int](bounds(4), bounds(64), time.Minute)
	shares := limit.NewShares[int](bounds(2))
	var storm sync.WaitGroup
	for i := range 8 {
		storm.Go(func() {
			for range 500 {
				share := shares.Of(i % 3)
				if g.Enter(context.Background(), share, 10, func() int { return i % 3 }) == nil {
					g.Leave(share, 10)
				}
			}
		})
	}
	storm.Wait()
	for range 4 {
		if err := g.Enter(t.Context(), nil, 10, func() int { return 9 }); err != nil {
			t.Fatalf("after the storm: %v, want all places free", err)
		}
	}
}

func TestFastPathAllocatesNothing(t *testing.T) {
	g := limit.NewGate[string](bounds(10), bounds(10), time.Minute)
	shares := limit.NewShares[string](bounds(10))
	ctx, who := context.Background(), func() string { return "a" }
	if n := testing.AllocsPerRun(100, func() {
		share := shares.Of("a")
		_ = g.Enter(ctx, share, 10, who)
		g.Leave(share, 10)
	}); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

func BenchmarkGate(b *testing.B) {
	g := limit.NewGate[string](bounds(1000), bounds(10), time.Minute)
	shares := limit.NewShares[string](bounds(1000))
	ctx, who := context.Background(), func() string { return "a" }
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			share := shares.Of("a")
			_ = g.Enter(ctx, share, 10, who)
			g.Leave(share, 10)
		}
	})
}
