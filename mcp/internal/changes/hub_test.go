package changes_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/changes"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/limit"
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
func (server) Evicted(mcp.Principal)                     {}
func (server) Go(f func())                               { go f() }
func (server) Logger() *slog.Logger                      { return slog.New(slog.DiscardHandler) }

// received keeps the messages of a subscriber.
type received struct{ messages chan string }

func (received) Identity() *mcp.Identity { return nil }

func (received) Client() (mcp.Revision, *mcp.ClientCapabilities) { return mcp.Revision{}, nil }

func (r received) Deliver(_ context.Context, e *changes.Event) error {
	a, err := e.In(dialect.Newest(dialect.SessionEra))
	r.messages <- string(a.Message())
	return err
}

// serve returns a hub and a subscriber to test://a whose events are delivered.
func serve(t *testing.T) (*changes.Hub, *changes.Subscriber, server, received) {
	t.Helper()
	h, s, r := new(changes.Hub), server{make(chan string, 1)}, received{make(chan string, 8)}
	h.Open(s, limit.NewPool(limit.PoolBounds{Total: 1000}))
	sub := changes.NewSubscriber(r, limit.Owner{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- sub.Serve(ctx, nil, nil) }()
	t.Cleanup(func() {
		cancel()
		<-ended
		h.Remove(sub)
	})
	if err := h.Subscribe(sub, []changes.Topic{changes.ResourceTopic("test://a")}, 0); err != nil {
		t.Fatal(err)
	}
	return h, sub, s, r
}

func TestFirstAndLastOfManyChangesAreDelivered(t *testing.T) {
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

func TestWatchFuncRunsWhileAClientIsSubscribed(t *testing.T) {
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

// TestSubscribersThatEvictEachOtherLeaveNothing has more subscribers than there is
// room for subscribe and unsubscribe at once.
func TestSubscribersThatEvictEachOtherLeaveNothing(t *testing.T) {
	t.Parallel()
	h, watches := new(changes.Hub), limit.NewPool(limit.PoolBounds{Total: 4})
	h.Open(unwatched{}, watches)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			owner := limit.OwnerOf(mcp.PrincipalAnonymous, netip.Addr{}, limit.NewMember())
			for n := range 200 {
				sub := changes.NewSubscriber(received{make(chan string, 8)}, owner)
				a, b := changes.ResourceTopic("test://a"), changes.ResourceTopic(fmt.Sprintf("test://%d", i))
				for _, topics := range [][]changes.Topic{{a, b}, {b}, {changes.ResourceTopic("test://c")}} {
					if err := h.Subscribe(sub, topics, 0); err != nil && !errors.Is(err, limit.ErrPoolFull) {
						t.Errorf("got %v, want %v at most", err, limit.ErrPoolFull)
					}
				}
				if n%2 == 0 {
					h.Unsubscribe(sub, b)
				}
				h.Remove(sub)
				if err := h.Subscribe(sub, []changes.Topic{a}, 0); !errors.Is(err, changes.ErrRemoved) && !errors.Is(err, limit.ErrPoolFull) {
					t.Errorf("after Remove: got %v, want %v", err, changes.ErrRemoved)
				}
			}
		})
	}
	all.Wait()
	if held := watches.Held(); held != 0 {
		t.Errorf("%d places are held by nobody", held)
	}
}

// unwatched is a server without functions that run while a resource is watched.
type unwatched struct{ server }

func (unwatched) WatchFunc(string, *mcp.Identity) changes.WatchFunc { return nil }
