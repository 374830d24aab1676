package lazyctx_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
)

func TestDeadlineEndsTheContextWithItsCause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := time.Now().Add(time.Hour)
		ctx, cancel := lazyctx.WithDeadline(t.Context(), at, errWhy)
		defer cancel()
		if got, ok := ctx.Deadline(); !ok || got != at || ctx.Err() != nil {
			t.Errorf("got the deadline %v, %v and the error %v, want %v", got, ok, ctx.Err(), at)
		}
		derived, end := context.WithCancel(ctx)
		defer end()
		<-derived.Done()
		if !time.Now().Equal(at) || ctx.Err() != context.DeadlineExceeded || context.Cause(ctx) != errWhy || context.Cause(derived) != errWhy {
			t.Errorf("got %v with the cause %v, and %v for a derived context, want %v", ctx.Err(), context.Cause(ctx), context.Cause(derived), errWhy)
		}
	})
}

func TestDeadlineIsNotReachedAfterAnEarlierEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		earlier, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		parent, end := context.WithCancelCause(t.Context())
		for name, c := range map[string]struct {
			parent context.Context
			end    func(cancel func())
			cause  error
		}{
			"cancel":                     {t.Context(), func(cancel func()) { cancel() }, context.Canceled},
			"the end of the parent":      {parent, func(func()) { end(errWhy) }, errWhy},
			"the deadline of a parent":   {earlier, func(func()) { time.Sleep(time.Minute) }, context.DeadlineExceeded},
			"a deadline without a cause": {t.Context(), func(func()) { time.Sleep(time.Hour) }, context.DeadlineExceeded},
		} {
			ctx, cancel := lazyctx.WithDeadline(c.parent, time.Now().Add(time.Hour), nil)
			c.end(cancel)
			synctest.Wait()
			if context.Cause(ctx) != c.cause {
				t.Errorf("%s: got %v, want %v", name, context.Cause(ctx), c.cause)
			}
			cancel()
		}
	})
}

// A failure here means that what the context of a request holds stays in memory until the deadline.
func TestDeadlineThatWasCancelledHoldsNothing(t *testing.T) {
	t.Parallel()
	for range 1000 { // among which the runtime keeps those that were stopped
		defer time.AfterFunc(time.Hour, func() {}).Stop()
	}
	type key struct{}
	var held [100]weak.Pointer[[1 << 10]byte]
	for i := range held {
		value := new([1 << 10]byte)
		held[i] = weak.Make(value)
		_, cancel := lazyctx.WithDeadline(context.WithValue(context.Background(), key{}, value), time.Now().Add(time.Hour), nil)
		cancel()
	}
	runtime.GC()
	for _, value := range held {
		if value.Value() != nil {
			t.Fatal("a value of a context is reachable after cancel")
		}
	}
}
