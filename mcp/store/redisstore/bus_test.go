package redisstore_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/testengine"
	"github.com/fondaco/fondaco/mcp/store/redisstore"
)

func TestSlowSubscriberLosesTheOldestMessages(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	s := open(t, server.URL, redisstore.Options{})
	free := make(chan struct{})
	var mu sync.Mutex
	var got []string
	cancel, err := s.Subscribe(t.Context(), "a", func(msg []byte) {
		<-free
		mu.Lock()
		defer mu.Unlock()
		got = append(got, string(msg))
	})
	if err != nil {
		t.Fatal(err)
	}
	defer cancel()
	fast := subscribe(t, s, "a")
	const n = 3000
	for i := range n {
		if err := s.Publish(t.Context(), "a", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
		if i%500 == 0 { // the fast one has a bounded queue as well
			eventually(t, "the other subscriber gets all", func() bool { return len(fast.all()) == i+1 })
		}
	}
	eventually(t, "the other subscriber gets all", func() bool { return len(fast.all()) == n })
	close(free)
	last := fmt.Sprint(n - 1)
	eventually(t, "the last message is delivered", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.Contains(got, last)
	})
	mu.Lock()
	defer mu.Unlock()
	if len(got) > 1025 || got[1] != fmt.Sprint(n-1024) {
		t.Errorf("got %d messages, the second is %s, want the last 1024", len(got), got[1])
	}
}

func TestSubscriptionsThatEndAndBeginAtOnceAreConfirmed(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	s := open(t, server.URL, redisstore.Options{})
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for n := range 100 {
				topic := fmt.Sprint("topic-", (w+n)%3) // shared with the others
				got := make(chan string, 1000)
				cancel, err := s.Subscribe(t.Context(), topic, func(msg []byte) { got <- string(msg) })
				if err != nil {
					t.Errorf("Subscribe: %v", err)
					return
				}
				id := fmt.Sprint(w, "/", n)
				if err := s.Publish(t.Context(), topic, []byte(id)); err != nil {
					t.Errorf("Publish: %v", err)
				}
				timeout := time.After(maxWait)
				for arrived := false; !arrived; {
					select {
					case msg := <-got:
						arrived = msg == id
					case <-timeout:
						t.Errorf("message %s has not arrived", id)
						arrived = true
					}
				}
				cancel()
			}
		})
	}
	all.Wait()
	client := redisClient(t, server)
	eventually(t, "the server has no subscriptions", func() bool {
		return len(client.PubSubChannels(t.Context(), "*").Val()) == 0
	})
}

func TestSubscriptionsShareOneConnection(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	s := open(t, server.URL, redisstore.Options{})
	var all sync.WaitGroup
	for n := range 1200 {
		all.Go(func() { subscribe(t, s, fmt.Sprint("topic-", n)) })
	}
	all.Wait()
	list := redisClient(t, server).ClientList(t.Context()).Val()
	if n := strings.Count(list, " sub=1200 "); n != 1 {
		t.Errorf("%d connections have 1200 subscriptions, want one:\n%s", n, list)
	}
}

func TestLostConnectionIsLoggedOnceAndItsReturn(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	log := new(syncedLog)
	s := open(t, server.URL, redisstore.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	b := subscribe(t, s, "a")
	server.Stop()
	eventually(t, "the loss is logged", func() bool { return strings.Contains(log.String(), "no connection for subscriptions") })
	server.Start()
	b.awaitMessage(t, s, "a")
	eventually(t, "the return is logged", func() bool { return strings.Contains(log.String(), "is back") })
	if n := strings.Count(log.String(), "\n"); n != 2 {
		t.Errorf("got the log\n%s\nwant two lines", log)
	}
}

func TestClientLibraryWritesNothingWhileTheServerCannotBeReached(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	addr := server.Addr() // not the proxy, which accepts connections
	s := open(t, "redis://"+addr, redisstore.Options{})
	subscribe(t, s, "a")
	server.Stop()
	eachCall(t, s, t.Context(), func(name string, err error) {
		if err == nil {
			t.Errorf("%s: got no error while the server is stopped", name)
		}
	})
	openError(t, "redis://"+addr, nil)
	for line := range strings.Lines(libraryLog.String()) {
		if strings.Contains(line, addr) {
			t.Errorf("the client library wrote %s", line)
		}
	}
}

type syncedLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *syncedLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(line)
}

func (l *syncedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
