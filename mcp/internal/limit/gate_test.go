package limit_test

import (
	"context"
	"errors"
	"fmt"
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
	go func() { done(g.Enter(context.Background(), share, 0, owner)) }()
	synctest.Wait()
}

func TestCallsBeyondTheTotalLimitWaitInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := limit.NewGate[string](bounds(1), bounds(10), time.Minute)
		if err := g.Enter(t.Context(), nil, 0, ""); err != nil {
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
		_ = g.Enter(t.Context(), nil, 0, "")
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

// The greedy owner has the only place without having waited for it.
func TestOwnerIsNotAdmittedTwiceInSuccessionWhileOthersWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := limit.NewGate[string](bounds(1), bounds(10), time.Minute)
		_ = g.Enter(t.Context(), nil, 0, "greedy")
		order := make(chan string, 5)
		for _, owner := range []string{"greedy", "greedy", "modest", "late"} {
			entering(g, nil, owner, func(error) { order <- owner })
		}
		for _, want := range []string{"modest", "greedy", "late", "greedy"} {
			g.Leave(nil, 0)
			if got := <-order; got != want {
				t.Errorf("%s is admitted, want %s", got, want)
			}
		}
	})
}

// Others of the owner are refused meanwhile, because they have waited too long or the queue is full.
func TestFirstCallsGoBeforeOthersOfTheirOwnerAndAreNotRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := limit.NewGate[string](bounds(1), bounds(4), time.Minute)
		_ = g.Enter(t.Context(), nil, 0, "")
		order, refused := make(chan string, 20), make(chan string, 20)
		enter := func(name, owner string, how func(context.Context, *limit.Share, int, string) error) {
			go func() {
				if err := how(t.Context(), nil, 0, owner); err != nil {
					refused <- name
					return
				}
				order <- name
			}()
			synctest.Wait()
		}
		enter("kept", "greedy", g.EnterKept)
		for i := range 4 {
			enter(fmt.Sprint("new ", i), "greedy", g.Enter)
		}
		enter("first 1", "greedy", g.EnterFirst)
		enter("first 2", "greedy", g.EnterFirst)
		enter("modest", "modest", g.Enter)
		if got := <-refused; got != "new 3" || len(refused) > 0 {
			t.Errorf("%s and %d more are refused, want the newest call that can be", got, len(refused))
		}
		for _, want := range []string{"first 1", "modest", "first 2", "kept", "new 0"} {
			g.Leave(nil, 0)
			if got := <-order; got != want {
				t.Errorf("%s is admitted, want %s", got, want)
			}
		}
		enter("first 3", "greedy", g.EnterFirst)
		time.Sleep(time.Hour)
		if len(refused) != 2 {
			t.Errorf("%d are refused after the maximum time, want the two that are not first", len(refused))
		}
		g.Leave(nil, 0)
		if got := <-order; got != "first 3" {
			t.Errorf("%s is admitted, want first 3", got)
		}
	})
}

func TestCallWithAFullShareDelaysNoOtherMemberOfItsGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := limit.NewGate[string](bounds(2), bounds(10), time.Minute)
		g.Turn = func(string) string { return "group" }
		full := limit.NewShare(bounds(1))
		_ = g.Enter(t.Context(), full, 0, "a")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- g.EnterFirst(ctx, full, 0, "a") }()
		synctest.Wait()
		entered := false
		entering(g, limit.NewShare(bounds(1)), "b", func(err error) { entered = err == nil })
		if !entered {
			t.Error("a call of another member waits behind one whose share is full")
		}
		cancel()
		if err := <-done; err != context.Canceled {
			t.Errorf("got %v, want the end of its context", err)
		}
	})
}

func TestFullQueueDropsFromTheLongestOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := limit.NewGate[string](bounds(1), bounds(2), time.Minute)
		_ = g.Enter(t.Context(), nil, 0, "")
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
		_ = g.Enter(t.Context(), share, 0, "")
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
		const who = "a"
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
		_ = g.Enter(t.Context(), nil, 0, "")
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		if err := g.Enter(ctx, nil, 0, "a"); err != gone {
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
				if g.Enter(context.Background(), share, 10, i%3) == nil {
					g.Leave(share, 10)
				}
			}
		})
	}
	storm.Wait()
	for range 4 {
		if err := g.Enter(t.Context(), nil, 10, 9); err != nil {
			t.Fatalf("after the storm: %v, want all places free", err)
		}
	}
}

func TestFastPathAllocatesNothing(t *testing.T) {
	g := limit.NewGate[string](bounds(10), bounds(10), time.Minute)
	shares := limit.NewShares[string](bounds(10))
	ctx, who := context.Background(), "a"
	if n := testing.AllocsPerRun(100, func() {
		share := shares.Of("a")
		_ = g.Enter(ctx, share, 10, who)
		g.Leave(share, 10)
		g.TryEnter(share, 10)
		g.Leave(share, 10)
	}); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

func BenchmarkGate(b *testing.B) {
	g := limit.NewGate[string](bounds(1000), bounds(10), time.Minute)
	shares := limit.NewShares[string](bounds(1000))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			share := shares.Of("a")
			g.TryEnter(share, 10)
			g.Leave(share, 10)
		}
	})
}

func TestCallThatGivesUpLetsSmallerOnesBehindItIn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := limit.NewGate[string](limit.Bounds{Calls: 10, Bytes: 100}, bounds(10), time.Hour)
		_ = g.Enter(t.Context(), nil, 60, "running")
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = g.Enter(ctx, nil, 60, "large") }()
		synctest.Wait()
		entered := false
		entering(g, nil, "small", func(err error) { entered = err == nil })
		cancel()
		synctest.Wait()
		if !entered {
			t.Error("a small call still waits behind one that is gone, although there is room")
		}
		g.Leave(nil, 60)
	})
}
