package lazyctx_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
	"github.com/fondaco/fondaco/mcp/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

var errWhy = errors.New("why")

// ends are the ways in which a context comes to its end, and how it tells.
var ends = []struct {
	name  string
	do    func(c *lazyctx.Context, parent, also context.CancelCauseFunc)
	cause error
}{
	{"cancel", func(c *lazyctx.Context, _, _ context.CancelCauseFunc) { c.Cancel(nil) }, context.Canceled},
	{"cancel with a cause", func(c *lazyctx.Context, _, _ context.CancelCauseFunc) { c.Cancel(errWhy) }, errWhy},
	{"its parent", func(_ *lazyctx.Context, parent, _ context.CancelCauseFunc) { parent(errWhy) }, errWhy},
	{"the other", func(_ *lazyctx.Context, _, also context.CancelCauseFunc) { also(errWhy) }, errWhy},
}

func TestEveryEndGivesTheSameErrorAndCause(t *testing.T) {
	t.Parallel()
	waits := map[string]func(context.Context){
		"nobody":     func(context.Context) {},
		"Done":       func(ctx context.Context) { ctx.Done() },
		"a child":    func(ctx context.Context) { context.AfterFunc(ctx, func() {}) },
		"who polls":  func(ctx context.Context) { _ = ctx.Err() },
		"who values": func(ctx context.Context) { ctx.Value("none") },
	}
	for _, end := range ends {
		for who, wait := range waits {
			t.Run(end.name+", "+who, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					parent, endParent := context.WithCancelCause(t.Context())
					also, endAlso := context.WithCancelCause(t.Context())
					defer endAlso(nil)
					defer endParent(nil)
					c := lazyctx.New(parent, also)
					defer c.Cancel(nil)
					wait(c)
					if c.Err() != nil || context.Cause(c) != nil {
						t.Fatalf("got %v, %v before the end", c.Err(), context.Cause(c))
					}
					end.do(c, endParent, endAlso)
					synctest.Wait()
					if c.Err() != context.Canceled || context.Cause(c) != end.cause {
						t.Errorf("got %v, cause %v, want %v", c.Err(), context.Cause(c), end.cause)
					}
					child, cancel := context.WithCancel(c)
					defer cancel()
					if context.Cause(child) != end.cause {
						t.Errorf("a later child: got %v, want %v", context.Cause(child), end.cause)
					}
					select {
					case <-c.Done():
					default:
						t.Error("Done is open")
					}
				})
			})
		}
	}
}

func TestTheFirstCauseCounts(t *testing.T) {
	t.Parallel()
	c := lazyctx.New(t.Context(), nil)
	c.Cancel(errWhy)
	c.Cancel(errors.New("another"))
	c.Cancel(nil)
	if got := context.Cause(c); got != errWhy {
		t.Errorf("got %v, want %v", got, errWhy)
	}
}

func TestLaterEndOfTheParentChangesNothing(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{nil, errWhy} {
		parent, endParent := context.WithCancelCause(t.Context())
		c := lazyctx.New(parent, nil)
		c.Cancel(cause)
		endParent(errors.New("later"))
		want := cause
		if want == nil {
			want = context.Canceled
		}
		if c.Err() != context.Canceled || context.Cause(c) != want {
			t.Errorf("got %v, cause %v, want %v", c.Err(), context.Cause(c), want)
		}
		<-c.Done()
		if context.Cause(c) != want {
			t.Errorf("once it is made: got cause %v, want %v", context.Cause(c), want)
		}
	}
}

func TestChildrenEndWithItAndNeedNoGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		c := lazyctx.New(context.WithValue(t.Context(), key{}, "value"), nil)
		timed, cancel := context.WithTimeout(c, time.Hour)
		defer cancel()
		if timed.Value(key{}) != "value" {
			t.Error("a value of the parent is lost")
		}
		// A goroutine that watched the parent for its child would let no fake time pass
		// without a Wait, and outlive an uncancelled child: leak.Main would see it.
		c.Cancel(errWhy)
		<-timed.Done()
		if context.Cause(timed) != errWhy {
			t.Errorf("got %v, want %v", context.Cause(timed), errWhy)
		}
	})
}

func TestManyMayWaitAndCancelAtOnce(t *testing.T) {
	t.Parallel()
	for range 200 {
		c := lazyctx.New(t.Context(), context.Background())
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { <-c.Done() })
			all.Go(func() { c.Cancel(errWhy) })
			all.Go(func() { _ = c.Err() })
		}
		all.Wait()
		if context.Cause(c) != errWhy {
			t.Fatalf("got %v, want %v", context.Cause(c), errWhy)
		}
	}
}

func TestContextWithoutWaitersCostsOneAllocation(t *testing.T) {
	ctx := t.Context()
	var c *lazyctx.Context
	for _, cause := range []error{nil, errWhy} {
		cost := testing.AllocsPerRun(100, func() {
			c = lazyctx.New(ctx, context.Background())
			if c.Err() != nil {
				t.Error("it has ended")
			}
			c.Cancel(cause)
			if c.Err() == nil {
				t.Error("it has not ended")
			}
		})
		if cost > 1 {
			t.Errorf("cancelled with cause %v: got %v allocations, want that of the struct", cause, cost)
		}
	}
}
