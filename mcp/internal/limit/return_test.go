package limit_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/limit"
)

func TestCallThatReturnsIsAdmittedBeforeNewCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := limit.NewGate[int](limit.Bounds{Calls: 1, Bytes: 10}, limit.Bounds{Calls: 9, Bytes: 10}, time.Hour)
		share, who := limit.NewShare(limit.Bounds{Calls: 1, Bytes: 10}), 1
		if err := g.Enter(t.Context(), share, 1, who); err != nil {
			t.Fatal(err)
		}
		g.Leave(share, 1) // to wait for its client
		if err := g.Enter(t.Context(), nil, 1, who); err != nil {
			t.Fatal(err)
		}
		order := make(chan string, 2)
		go func() {
			if g.Enter(t.Context(), nil, 1, who) == nil {
				order <- "new"
			}
		}()
		synctest.Wait()
		go func() {
			if g.Return(t.Context(), share, 1) == nil {
				order <- "returned"
			}
		}()
		synctest.Wait()
		time.Sleep(2 * time.Minute) // it is not refused, however long it takes
		g.Leave(nil, 1)
		if first := <-order; first != "returned" {
			t.Errorf("first came in a %s call, want the one that returned", first)
		}
		g.Leave(share, 1)
		<-order
		g.Leave(nil, 1)
	})
}

func TestReturnOfACallWithAFullShareDelaysNoOtherCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := limit.NewGate[int](limit.Bounds{Calls: 9, Bytes: 10}, limit.Bounds{Calls: 9, Bytes: 10}, time.Hour)
		share, who := limit.NewShare(limit.Bounds{Calls: 1, Bytes: 10}), 1
		if err := g.Enter(t.Context(), share, 1, who); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		back := make(chan error, 1)
		go func() { back <- g.Return(ctx, share, 1) }()
		synctest.Wait()
		if err := g.Enter(t.Context(), nil, 1, who); err != nil {
			t.Errorf("got %v for another owner", err)
		}
		why := errors.New("why")
		cancel(why)
		if err := <-back; err != why {
			t.Errorf("got %v, want %v", err, why)
		}
		g.Leave(nil, 1)
		g.Leave(share, 1)
	})
}
