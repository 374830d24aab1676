package changes_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/changes"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

// server is a server whose resources everybody may read.
type server struct{ watched chan string }

func (server) Resource(string) (bool, func(*mcp.Identity) bool) {
	return true, func(*mcp.Identity) bool { return true }
}

func (s server) WatchFunc(string, *mcp.Identity) changes.WatchFunc {
	return func(ctx context.Context, uri string) {
		s.watched <- uri
		<-ctx.Done()
		close(s.watched)
	}
}

func (server) Features(string, string) []changes.Feature { return nil }
func (server) IsOpen(*exchange.Session) bool             { return true }
func (server) Go(f func())                               { go f() }
func (server) Logger() *slog.Logger                      { return slog.New(slog.DiscardHandler) }

// received keeps the messages of a subscriber.
type received struct{ messages chan string }

func (received) Identity() *mcp.Identity { return nil }

func (r received) Deliver(_ context.Context, e *changes.Event) error {
	a, err := e.In(dialect.Newest(dialect.SessionEra))
	r.messages <- string(a.Message())
	return err
}

// serve returns a hub and a subscriber to test://a whose events are delivered.
func serve(t *testing.T) (*changes.Hub, *changes.Subscriber, server, received) {
	t.Helper()
	h, s, r := new(changes.Hub), server{make(chan string, 1)}, received{make(chan string, 8)}
	h.Open(s)
	sub := changes.NewSubscriber(r)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- sub.Serve(ctx, nil, nil) }()
	t.Cleanup(func() {
		cancel()
		<-ended
		h.Remove(sub)
	})
	if !h.Subscribe(sub, changes.ResourceTopic("test://a")) {
		t.Fatal("the subscription was refused")
	}
	return h, sub, s, r
}

func TestOfManyChangesTheFirstAndTheLastAreDelivered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _, _, r := serve(t)
		for range 10 {
			h.Updated("test://a")
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		if got := len(r.messages); got != 2 {
			t.Errorf("got %d notifications of 10 changes within 50 ms, want 2", got)
		}
		if got := <-r.messages; !strings.Contains(got, mcp.NotificationResourceUpdated) || !strings.Contains(got, "test://a") {
			t.Errorf("got %s", got)
		}
	})
}

func TestWatchFuncRunsWhileSomebodyIsSubscribed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, sub, s, _ := serve(t)
		if got := <-s.watched; got != "test://a" {
			t.Errorf("got %q", got)
		}
		h.Unsubscribe(sub, changes.ResourceTopic("test://a"))
		if _, running := <-s.watched; running {
			t.Error("it ran again, want it to end")
		}
	})
}
