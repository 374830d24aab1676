package exchange_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
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

func TestStoppedTimerIsNotWoundUpAgain(t *testing.T) {
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
		var waiting exchange.DeadlineGroup
		shared := exchange.WithPausable(t.Context(), &waiting)
		early, stop := exchange.WithTimeout(t.Context(), 10*time.Second, errLate)
		defer stop()
		defer waiting.Add(early)()
		release := exchange.PauseAll(shared)
		late, stop := exchange.WithTimeout(t.Context(), 10*time.Second, errLate)
		defer stop()
		leave := waiting.Add(late)
		time.Sleep(time.Hour)
		leave()
		time.Sleep(9 * time.Second)
		if early.Err() != nil || late.Err() != nil {
			t.Errorf("got %v and %v, want no end", context.Cause(early), context.Cause(late))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if early.Err() != nil || late.Err() == nil {
			t.Errorf("got %v and %v, want the end of the one that has left", context.Cause(early), context.Cause(late))
		}
		release()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if early.Err() == nil {
			t.Error("the other one does not end")
		}
	})
}

func TestContextWithoutDeadlinesCanBePaused(t *testing.T) {
	t.Parallel()
	exchange.PauseAll(t.Context())()
	new(exchange.DeadlineGroup).Add(t.Context())()
}
