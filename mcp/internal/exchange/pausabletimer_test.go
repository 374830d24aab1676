package exchange_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

var errLate = errors.New("late")

func TestTimeoutCountsOnlyTheTimeWhileItIsNotPaused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		outer, stop := exchange.WithTimeout(t.Context(), 20*time.Second, errors.New("outer"))
		defer stop()
		ctx, stop := exchange.WithTimeout(outer, 10*time.Second, errLate)
		defer stop()
		time.Sleep(4 * time.Second)
		first := exchange.PauseAll(ctx)
		time.Sleep(time.Hour)
		second := exchange.PauseAll(ctx)
		first()
		time.Sleep(time.Hour)
		second()
		<-ctx.Done()
		if took := time.Since(began) - 2*time.Hour; took != 10*time.Second || context.Cause(ctx) != errLate {
			t.Errorf("got %v after %v besides the holding, want %v after 10s", context.Cause(ctx), took, errLate)
		}
		<-outer.Done()
		if took := time.Since(began) - 2*time.Hour; took != 20*time.Second {
			t.Errorf("the outer one ended after %v besides the holding, want 20s", took)
		}
	})
}

func TestStoppedTimerIsNotReset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		timer := exchange.AfterFunc(time.Second, func() { t.Error("called") })
		release := exchange.PauseAll(exchange.WithPausable(t.Context(), timer))
		timer.Stop()
		release()
		time.Sleep(time.Minute)
	})
}

func TestDeadlinesOfAllWaitersArePausedTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var group exchange.DeadlineGroup
		shared := exchange.WithPausable(t.Context(), &group)
		never, answered := make(chan struct{}), make(chan struct{})
		early, stop := exchange.WithTimeout(t.Context(), 10*time.Second, errLate)
		defer stop()
		var waiters sync.WaitGroup
		defer waiters.Wait()
		waiters.Go(func() {
			if err := group.Wait(early, never); err != errLate {
				t.Errorf("the one that waits: got %v, want %v", err, errLate)
			}
		})
		synctest.Wait()
		resume := exchange.PauseAll(shared)
		synctest.Wait()
		late, stop := exchange.WithTimeout(t.Context(), 10*time.Second, errLate)
		defer stop()
		waiters.Go(func() {
			if err := group.Wait(late, answered); err != nil {
				t.Errorf("the one that has its answer: got %v, want nil", err)
			}
		})
		time.Sleep(time.Hour)
		close(answered)
		time.Sleep(9 * time.Second)
		if early.Err() != nil || late.Err() != nil {
			t.Errorf("got %v and %v, want no end", context.Cause(early), context.Cause(late))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if early.Err() != nil || late.Err() == nil {
			t.Errorf("got %v and %v, want the end of the one that has its answer", context.Cause(early), context.Cause(late))
		}
		resume()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if early.Err() == nil {
			t.Error("the other one does not end")
		}
	})
}

// Calls of a tool with one slot wait for one reconnection. One of them takes the slot as soon
// as the group is resumed, and needs the end of the reconnection to give it back.
func TestResumeOfAGroupDoesNotWaitForTheSlotsOfItsWaiters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slots := limit.NewGate[int](limit.Bounds{Calls: 1}, limit.Bounds{Calls: 3}, time.Hour)
		var group exchange.DeadlineGroup
		done := make(chan struct{})
		var calls sync.WaitGroup
		group.Pause()
		for range 3 {
			calls.Go(func() {
				if err := slots.Enter(t.Context(), nil, 0, 1); err != nil {
					t.Error(err)
					return
				}
				place := exchange.NewLease(func() { slots.Leave(nil, 0) }, func() error { return slots.Return(t.Context(), nil, 0) })
				defer place.End()
				if err := group.Wait(exchange.WithPausable(t.Context(), place), done); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		group.Resume()
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := group.Wait(short, done); err != context.DeadlineExceeded {
			t.Errorf("another waiter: got %v, want the end of its context", err)
		}
		close(done)
		calls.Wait()
	})
}

func TestContextWithoutDeadlinesCanBePaused(t *testing.T) {
	t.Parallel()
	exchange.PauseAll(t.Context())()
	done := make(chan struct{})
	close(done)
	if err := new(exchange.DeadlineGroup).Wait(t.Context(), done); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}
