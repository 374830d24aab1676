package streamhttp

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// silentEvents is an event store that answers no call, or refuses each.
type silentEvents struct {
	mcp.EventStore
	refuses bool
}

func (s *silentEvents) Append(ctx context.Context, _ string, _ int64, _ []byte) error {
	if s.refuses {
		return errors.New("too large")
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// A failure here means that each event of a call waits for an event store that does not answer.
func TestEventsDoNotWaitOneAfterTheOtherForASilentStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := new(silentEvents)
		events := (&Options{Events: store}).events()
		began := time.Now()
		for n := range 10 {
			if err := events.Append(t.Context(), "s", int64(n), nil); err == nil {
				t.Fatal("got no error of a store that does not answer")
			}
		}
		if took := time.Since(began); took != appendTimeout {
			t.Errorf("ten events took %v, want %v", took, appendTimeout)
		}
		time.Sleep(appendRetry)
		store.refuses = true
		for n := range 2 { // an error of one event says nothing of the next
			if err := events.Append(t.Context(), "s", int64(n), nil); err == nil || err == errEventsSilent {
				t.Errorf("got %v, want the error of the store", err)
			}
		}
	})
}

// slowEvents takes the events of all streams but "slow".
type slowEvents struct{ silentEvents }

func (s *slowEvents) Append(ctx context.Context, stream string, n int64, msg []byte) error {
	if stream == "slow" {
		return s.silentEvents.Append(ctx, stream, n, msg)
	}
	return nil
}

// A failure here means that a store that is slow with one stream keeps no event of the others.
func TestEventsAreKeptWhileOneStreamIsSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		events := (&Options{Events: new(slowEvents)}).events()
		go func() { _ = events.Append(t.Context(), "slow", 1, nil) }()
		for n := range 10 {
			time.Sleep(appendTimeout / 4)
			if err := events.Append(t.Context(), "s", int64(n+1), nil); err != nil {
				t.Errorf("event %d: %v", n+1, err)
			}
		}
	})
}

// A failure here means that a client can have any number of events kept in memory that the event
// store does not take.
func TestEventsThatAStoreNeverTakesAreGivenUp(t *testing.T) {
	t.Parallel()
	store := &silentEvents{refuses: true}
	l := newEventLog(store, true, limit.Owner{}, slog.New(slog.DiscardHandler))
	l.lock()
	defer l.unlock()
	for _, size := range []int{1, maxUnstoredBytes / 4} {
		most := 0
		for range 3 * maxUnstored {
			l.add(make([]byte, size))
			kept := 0
			for _, msg := range l.unstored {
				kept += len(msg)
			}
			most = max(most, len(l.unstored))
			if len(l.unstored) > maxUnstored || kept > maxUnstoredBytes {
				t.Fatalf("got %d events of %d bytes, want at most %d of %d", len(l.unstored), kept, maxUnstored, maxUnstoredBytes)
			}
		}
		if most == 0 {
			t.Error("no event was kept")
		}
	}
}
