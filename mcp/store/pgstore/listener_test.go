package pgstore

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

// planned returns the channels to listen to and those to drop.
func planned(t *testing.T, l *listener) (add, drop []string) {
	_, cancel, add, drop := l.plan(t.Context())
	cancel()
	return add, drop
}

func TestSubscriptionWaitsForAnotherListenWhileItsChannelIsDropped(t *testing.T) {
	t.Parallel()
	l := newListener(nil, nil, nil)
	subscribe := func() *exchange.Dispatcher[[]byte] {
		d := exchange.NewDispatcher(func([]byte) {})
		if err := l.add("a", d); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(d.Close)
		return d
	}
	first := subscribe()
	if add, _ := planned(t, l); !slices.Equal(add, []string{"a"}) {
		t.Fatalf("got %q to listen to, want a", add)
	}
	l.listening([]string{"a"})
	l.remove("a", first)
	if _, drop := planned(t, l); !slices.Equal(drop, []string{"a"}) {
		t.Fatalf("got %q to drop, want a", drop)
	}
	subscribe()
	ended, end := context.WithCancel(t.Context())
	end()
	if err := l.await(ended, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("while the channel is dropped: got %v, want a wait", err)
	}
	l.listening(nil) // the channel is dropped
	if add, _ := planned(t, l); !slices.Equal(add, []string{"a"}) {
		t.Errorf("got %q to listen to, want a again", add)
	}
}

func TestSubscriberGetsNoMessageOfTheOneBefore(t *testing.T) {
	t.Parallel()
	l := newListener(nil, nil, nil)
	got := make(chan string, 10)
	subscribe := func(name string) *exchange.Dispatcher[[]byte] {
		d := exchange.NewDispatcher(func(msg []byte) { got <- name + " " + string(msg) })
		if err := l.add("a", d); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(d.Close)
		return d
	}
	notify := func(msg string) {
		for _, payload := range encodeMessage([]byte(msg)) {
			l.deliver(&pgconn.Notification{Channel: "a", Payload: payload})
		}
	}
	listen := func() {
		if add, _ := planned(t, l); !slices.Equal(add, []string{"a"}) {
			t.Fatalf("got %q to listen to, want a", add)
		}
		l.listening([]string{"a"})
	}
	first := subscribe("first")
	listen()
	l.remove("a", first)
	subscribe("second") // before the channel is dropped
	ended, end := context.WithCancel(t.Context())
	end()
	if err := l.await(ended, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("before another LISTEN: got %v, want a wait", err)
	}
	notify("old")
	listen()
	notify("new")
	if msg := <-got; msg != "second new" {
		t.Errorf("got %q, want the new message", msg)
	}
}
