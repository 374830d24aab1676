package redisstore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/testengine"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcptest"
	"github.com/fondaco/fondaco/mcp/store/redisstore"
)

func TestRedisPassesTheChecksWithFaults(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	o := redisstore.Options{Namespace: namespace()}
	limit := func(bytes string) {
		if err := redisClient(t, server).ConfigSet(t.Context(), "maxmemory", bytes).Err(); err != nil {
			t.Fatal(err)
		}
	}
	mcptest.CheckFaults(t, mcptest.Engine{
		Open: func(t *testing.T) (mcp.Store, mcp.Bus, mcp.EventStore) {
			s := open(t, server.URL, o)
			return s, s, s.Events()
		},
		Cut:     server.Proxy.Cut,
		Stop:    server.Kill,
		Start:   server.Start,
		Block:   server.Proxy.Block,
		Unblock: server.Proxy.Unblock,
		Fill:    func() { limit("1") },
		Drain:   func() { limit("0") },
	})
}

// calls returns one call of each method that asks the server.
func calls(s *redisstore.Store) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"get":    func(ctx context.Context) error { _, _, err := s.Get(ctx, "a"); return err },
		"put":    func(ctx context.Context) error { return s.Put(ctx, "a", nil, time.Minute) },
		"create": func(ctx context.Context) error { _, err := s.Create(ctx, "b", nil, 0); return err },
		"swap":   func(ctx context.Context) error { _, err := s.Swap(ctx, "a", nil, []byte("1"), 0); return err },
		"delete": func(ctx context.Context) error { return s.Delete(ctx, "c") },
		"list":   func(ctx context.Context) error { _, err := s.List(ctx, "", "", 10); return err },
		"append": func(ctx context.Context) error { return s.Events().Append(ctx, "s", 1, nil) },
		"after":  func(ctx context.Context) error { _, err := s.Events().After(ctx, "s", 0); return err },
		"trim":   func(ctx context.Context) error { return s.Events().Trim(ctx, "s", 0) },
		"publish": func(ctx context.Context) error {
			return s.Publish(ctx, "a", nil)
		},
		"subscribe": func(ctx context.Context) error {
			cancel, err := s.Subscribe(ctx, "another", func([]byte) {})
			if err == nil {
				cancel()
			}
			return err
		},
	}
}

// eachCall runs all calls at once and checks their errors.
func eachCall(t *testing.T, s *redisstore.Store, ctx context.Context, check func(name string, err error)) {
	t.Helper()
	var all sync.WaitGroup
	for name, call := range calls(s) {
		all.Go(func() { check(name, call(ctx)) })
	}
	all.Wait()
}

func wantNoErrors(t *testing.T, s *redisstore.Store) {
	t.Helper()
	eachCall(t, s, t.Context(), func(name string, err error) {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
}

func TestCallsFailWithinTheTimeoutWhileTheServerIsSilent(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	s := open(t, server.URL, redisstore.Options{})
	b := subscribe(t, s, "a")
	wantNoErrors(t, s)
	server.Proxy.Block()
	for range 2 { // with open connections, and with new ones
		eachCall(t, s, context.Background(), func(name string, err error) {
			if err == nil || !strings.Contains(err.Error(), "within 5s") {
				t.Errorf("%s: got %v, want no answer within 5s", name, err)
			}
		})
	}
	server.Proxy.Unblock()
	b.awaitMessage(t, s, "a")
	wantNoErrors(t, s)
}

func TestCallsReturnWhenTheirContextEndsWhileTheServerIsSilent(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	s := open(t, server.URL, redisstore.Options{Timeout: time.Hour})
	wantNoErrors(t, s)
	server.Proxy.Block()
	defer server.Proxy.Cut() // so that Close does not wait for the timeout
	cause := errors.New("the client is gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
	eachCall(t, s, ctx, func(name string, err error) {
		if !errors.Is(err, cause) {
			t.Errorf("%s: got %v, want the cause of the context", name, err)
		}
	})
}

func TestEverythingWorksAgainAfterARestart(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	s := open(t, server.URL, redisstore.Options{})
	b := subscribe(t, s, "a")
	for name, stop := range map[string]func(){"stopped": server.Stop, "killed": server.Kill} {
		put(t, s, "kept", name)
		if err := s.Events().Append(t.Context(), name, 1, []byte(name)); err != nil {
			t.Fatal(err)
		}
		stop()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // for which Subscribe waits
		eachCall(t, s, ctx, func(call string, err error) {
			if err == nil {
				t.Errorf("%s: got no error while the server is %s", call, name)
			}
		})
		cancel()
		server.Start()
		want(t, s, "kept", name)
		if keys, err := s.List(t.Context(), "kept", "", 2); err != nil || len(keys) != 1 {
			t.Errorf("List: got %q, %v, want one key", keys, err)
		}
		if events, err := s.Events().After(t.Context(), name, 0); err != nil || len(events) != 1 || string(events[0]) != name {
			t.Errorf("After: got %q, %v, want the event", events, err)
		}
		b.awaitMessage(t, s, "a")
		wantNoErrors(t, s)
	}
}

func TestSubscriptionsReturnAfterTheConnectionIsLost(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	s := open(t, server.URL, redisstore.Options{})
	a, b := subscribe(t, s, "a"), subscribe(t, s, "b")
	server.Proxy.Cut()
	a.awaitMessage(t, s, "a")
	b.awaitMessage(t, s, "b")
	server.Proxy.Refuse()
	server.Proxy.Cut()
	if _, _, err := s.Get(t.Context(), "a"); err == nil {
		t.Error("got no error while the server cannot be reached")
	}
	server.Proxy.Accept()
	a.awaitMessage(t, s, "a")
	b.awaitMessage(t, s, "b")
}

// A write whose answer is lost may have run. It is reported as an error and not repeated, so
// each success is one write and each error is at most one.
func TestWritesAreNotRepeatedWhenTheirAnswerIsLost(t *testing.T) {
	t.Parallel()
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		writeWhileCut(t, testengine.Redis(t))
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		writeWhileCut(t, startCluster(t))
	})
}

func writeWhileCut(t *testing.T, server *testengine.Server) {
	s := open(t, server.URL, redisstore.Options{})
	b := subscribe(t, s, "n")
	put(t, s, "n", string(make([]byte, 8)))
	stop := make(chan struct{})
	var cutter, writers sync.WaitGroup
	cutter.Go(func() {
		tick := time.NewTicker(3 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				server.Proxy.Cut()
			case <-stop:
				return
			}
		}
	})
	var mu sync.Mutex
	var swapped, unknown, created, refused int
	for w := range 4 {
		writers.Go(func() {
			for n := range 200 {
				key := string(rune('a'+w)) + strings.Repeat("x", n)
				ok, err := s.Create(t.Context(), key, nil, 0)
				mu.Lock()
				if err == nil && ok {
					created++
				} else if err == nil {
					refused++
				}
				mu.Unlock()
				_ = s.Publish(t.Context(), "n", []byte(key))
				old, _, err := s.Get(t.Context(), "n")
				if err != nil {
					continue
				}
				ok, err = s.Swap(t.Context(), "n", old, binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(old)+1), 0)
				mu.Lock()
				if err != nil {
					unknown++
				} else if ok {
					swapped++
				}
				mu.Unlock()
			}
		})
	}
	writers.Wait()
	close(stop)
	cutter.Wait()
	value, _, err := s.Get(t.Context(), "n")
	if err != nil {
		t.Fatal(err)
	}
	if n := int(binary.BigEndian.Uint64(value)); n < swapped || n > swapped+unknown {
		t.Errorf("the value is %d after %d swaps and %d lost answers", n, swapped, unknown)
	}
	if refused > 0 {
		t.Errorf("%d calls of Create were refused by their own value", refused)
	}
	messages := b.all()
	slices.Sort(messages)
	if n := len(messages) - len(slices.Compact(slices.Clone(messages))); n > 0 {
		t.Errorf("%d messages were delivered twice", n)
	}
	t.Logf("%d swaps, %d lost answers, %d creations, %d messages", swapped, unknown, created, len(messages))
	b.awaitMessage(t, s, "n")
}

func TestCloseEndsRunningCallsAndSubscriptions(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	s := open(t, server.URL, redisstore.Options{Timeout: time.Hour})
	cancel, err := s.Subscribe(t.Context(), "a", func([]byte) {})
	if err != nil {
		t.Fatal(err)
	}
	defer cancel()
	wantNoErrors(t, s)
	server.Proxy.Block()
	var all sync.WaitGroup
	all.Go(func() {
		eachCall(t, s, t.Context(), func(name string, err error) {
			if err == nil || !strings.Contains(err.Error(), "closed") {
				t.Errorf("%s: got %v, want that the store is closed", name, err)
			}
		})
	})
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
	eachCall(t, s, t.Context(), func(name string, err error) {
		if err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("%s after Close: got %v, want that the store is closed", name, err)
		}
	})
	cancel()
}
