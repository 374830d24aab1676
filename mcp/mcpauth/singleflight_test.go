package mcpauth

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
)

func TestSharedCallEndsWithItsLastWaiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s callGroup
		runs, outcome := 0, errors.New("outcome")
		wait := func(ctx context.Context) <-chan error {
			done := make(chan error, 1)
			go func() {
				done <- s.do(ctx, "key", func(ctx context.Context) error {
					runs++
					<-ctx.Done()
					return outcome
				})
			}()
			synctest.Wait()
			return done
		}
		first, leaveFirst := context.WithCancelCause(t.Context())
		second, leaveSecond := context.WithCancel(t.Context())
		one, other := wait(first), wait(second)
		gone := errors.New("gone")
		leaveFirst(gone)
		if err := <-one; !errors.Is(err, gone) {
			t.Errorf("who has left got %v", err)
		}
		synctest.Wait()
		select {
		case err := <-other:
			t.Fatalf("the run ended although one waits: %v", err)
		default:
		}
		leaveSecond()
		if err := <-other; !errors.Is(err, context.Canceled) || runs != 1 {
			t.Errorf("%d runs, %v", runs, err)
		}
		third, leaveThird := context.WithCancel(t.Context())
		again := wait(third)
		leaveThird()
		if <-again; runs != 2 {
			t.Errorf("%d runs, want a new one after the end of the first", runs)
		}
	})
}

func TestPanicOfASharedCallIsTheErrorOfItsCallers(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	s := callGroup{logger: slog.New(slog.NewTextHandler(&log, nil))}
	err := s.do(t.Context(), "key", func(context.Context) error { panic("lost marbles") })
	if err == nil || !strings.Contains(err.Error(), "lost marbles") || strings.Contains(err.Error(), ".go:") {
		t.Errorf("got %v, want the panic without its stack", err)
	}
	if !strings.Contains(log.String(), "lost marbles") || !strings.Contains(log.String(), "goroutine ") {
		t.Errorf("got the log %s, want the panic with its stack", log.String())
	}
}
