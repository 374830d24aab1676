package redisstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fondaco/fondaco/internal/testengine"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcptest"
	"github.com/fondaco/fondaco/mcp/store/redisstore"
)

func TestMain(m *testing.M) {
	redis.SetLogger(&libraryLog)
	mcptest.Main(m)
}

// libraryLog gets what the client library would write to standard error.
var libraryLog syncedLog

// Printf implements the interface of the client library.
func (l *syncedLog) Printf(_ context.Context, format string, args ...any) {
	fmt.Fprintf(l, format+"\n", args...)
}

func TestRedisPassesTheChecks(t *testing.T) {
	t.Parallel()
	checkAll(t, testengine.Redis(t))
}

// Valkey is not in all distributions, so it is tested where it is found.
func TestValkeyPassesTheChecksWhereItIsFound(t *testing.T) {
	t.Parallel()
	if path, err := exec.LookPath("valkey-server"); err == nil {
		checkAll(t, testengine.RedisCompatible(t, path))
	}
}

func checkAll(t *testing.T, server *testengine.Server) {
	two := func(t *testing.T) (one, two *redisstore.Store) {
		o := redisstore.Options{Namespace: namespace()}
		return open(t, server.URL, o), open(t, server.URL, o)
	}
	t.Run("store", func(t *testing.T) {
		mcptest.CheckStore(t, func(t *testing.T) (mcp.Store, mcp.Store) { return two(t) })
	})
	t.Run("bus", func(t *testing.T) {
		mcptest.CheckBus(t, func(t *testing.T) (mcp.Bus, mcp.Bus) { return two(t) })
	})
	t.Run("events", func(t *testing.T) {
		mcptest.CheckEventStore(t, func(t *testing.T) (mcp.EventStore, mcp.EventStore) {
			one, other := two(t)
			return one.Events(), other.Events()
		})
	})
}

var namespaces atomic.Int64

// namespace returns one that no other test uses.
func namespace() string { return fmt.Sprint("test-", namespaces.Add(1)) }

// open returns a Store that is closed at the end of the test. By default it has a namespace of its
// own, and no log.
func open(t *testing.T, url string, o redisstore.Options) *redisstore.Store {
	t.Helper()
	if o.Namespace == "" {
		o.Namespace = namespace()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s, err := redisstore.Open(t.Context(), url, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// redisClient returns a client that does what a Store does not.
func redisClient(t *testing.T, server *testengine.Server) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { c.Close() })
	return c
}

func put(t *testing.T, s *redisstore.Store, key, value string) {
	t.Helper()
	if err := s.Put(t.Context(), key, []byte(value), 0); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, s *redisstore.Store, key, want string) {
	t.Helper()
	if got, found, err := s.Get(t.Context(), key); err != nil || !found || string(got) != want {
		t.Errorf("Get %s: got %q, %v, %v, want %q", key, got, found, err, want)
	}
}

// maxWait is how long tests wait for what has to happen.
const maxWait = 3 * time.Minute

// eventually calls f until it reports true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), maxWait)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: not within %v", what, maxWait)
		}
	}
}

// inbox holds the messages of a subscription.
type inbox struct {
	mu  sync.Mutex
	got []string
}

func subscribe(t *testing.T, s *redisstore.Store, topic string) *inbox {
	t.Helper()
	b := new(inbox)
	cancel, err := s.Subscribe(t.Context(), topic, func(msg []byte) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.got = append(b.got, string(msg))
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cancel)
	return b
}

func (b *inbox) all() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.got...)
}

// awaitMessage publishes until a message arrives.
func (b *inbox) awaitMessage(t *testing.T, s *redisstore.Store, topic string) {
	t.Helper()
	before := len(b.all())
	eventually(t, "a message arrives", func() bool {
		_ = s.Publish(t.Context(), topic, []byte("message")) // fails while there is no server
		return len(b.all()) > before
	})
}
