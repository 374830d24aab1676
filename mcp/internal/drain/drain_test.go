package drain_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/drain"
)

func TestDrainWaitsForRunningWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g drain.Group
		g.Enter()
		g.Go(func() { time.Sleep(time.Minute) })
		time.AfterFunc(2*time.Minute, g.Leave)
		begin := time.Now()
		if err := g.Drain(t.Context()); err != nil || time.Since(begin) != 2*time.Minute {
			t.Errorf("got %v after %v, want nil after 2m", err, time.Since(begin))
		}
		if n := g.Running(); n != 0 {
			t.Errorf("got %d running, want 0", n)
		}
	})
}

func TestEveryDrainReturnsWhenTheGroupIsEmpty(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g drain.Group
		g.Enter()
		var drained atomic.Int32
		for range 3 {
			go func() {
				_ = g.Drain(t.Context())
				drained.Add(1)
			}()
		}
		synctest.Wait()
		if n := drained.Load(); n != 0 {
			t.Errorf("got %d drained while work runs, want 0", n)
		}
		g.Leave()
		synctest.Wait()
		if n := drained.Load(); n != 3 {
			t.Errorf("got %d drained, want 3", n)
		}
	})
}

func TestDrainReturnsTheCauseOfItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g drain.Group
		g.Enter()
		enough := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, enough)
		defer cancel()
		if err := g.Drain(ctx); !errors.Is(err, enough) {
			t.Errorf("got %v, want %v", err, enough)
		}
		g.Leave()
		if err := g.Drain(t.Context()); err != nil {
			t.Errorf("a later call: got %v, want nil", err)
		}
	})
}

func TestDrainOfAnEmptyGroupIgnoresAnEndedContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		var g drain.Group
		if err := g.Drain(ctx); err != nil {
			t.Fatalf("got %v, want nil", err)
		}
	}
}

func TestClosedGroupRefusesNewWorkAndAcceptsWhatRunningWorkNeeds(t *testing.T) {
	t.Parallel()
	var g drain.Group
	if g.Closed() || !g.Enter() {
		t.Fatal("open: got work refused, want it accepted")
	}
	g.Close()
	g.Close()
	if !g.Closed() || g.Enter() {
		t.Error("closed: got new work accepted, want it refused")
	}
	if !g.Join() {
		t.Error("closed, work runs: got Join refused, want it accepted")
	}
	g.Leave()
	g.Leave()
	if g.Enter() || g.Join() || g.Go(func() { t.Error("f runs, want it not run") }) {
		t.Error("closed and empty: got work accepted, want it refused")
	}
	if n := g.Running(); n != 0 {
		t.Errorf("got %d running, want 0", n)
	}
}

func TestOpenGroupAcceptsWorkAfterItWasEmpty(t *testing.T) {
	t.Parallel()
	var g drain.Group
	for range 2 {
		if !g.Join() {
			t.Fatal("got work refused, want it accepted")
		}
		g.Leave()
	}
}

func TestLeaveWithoutEnterPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("got no panic, want one")
		}
	}()
	new(drain.Group).Leave()
}

func TestConcurrentWorkIsNeverAcceptedAfterDrain(t *testing.T) {
	t.Parallel()
	for range 200 {
		var g drain.Group
		var running atomic.Int32
		start := make(chan struct{})
		done := make(chan struct{}, 4)
		for range cap(done) {
			go func() {
				defer func() { done <- struct{}{} }()
				<-start
				for g.Enter() {
					running.Add(1)
					g.Go(func() {})
					running.Add(-1)
					g.Leave()
				}
			}()
		}
		close(start)
		if err := g.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := running.Load(); n != 0 {
			t.Fatalf("got %d at work after Drain, want none", n)
		}
		for range cap(done) {
			<-done
		}
	}
}
