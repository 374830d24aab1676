package natsstore_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/testengine"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/store/natsstore"
)

// wait is how long tests wait for what has to come.
const wait = 3 * time.Minute

func put(t *testing.T, s mcp.Store, key, value string) {
	t.Helper()
	if err := s.Put(t.Context(), key, []byte(value), 0); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, s mcp.Store, key, want string) {
	t.Helper()
	value, found, err := s.Get(t.Context(), key)
	if err != nil || string(value) != want || found != (want != "") {
		t.Errorf("Get %q: got %.50q, %v, %v, want %.50q", key, value, found, err, want)
	}
}

func TestRestartedServerHasValuesAndSubscriptions(t *testing.T) {
	t.Parallel()
	server := testengine.NATS(t)
	s := open(t, server.URL, small("shop"))
	got := make(chan string, 100)
	cancel, err := s.Subscribe(t.Context(), "topic", func(msg []byte) { got <- string(msg) })
	if err != nil {
		t.Fatal(err)
	}
	defer cancel()
	for i, end := range []func(){server.Stop, server.Kill} {
		value := fmt.Sprint("value ", i)
		put(t, s, "key", value)
		if err := s.Events().Append(t.Context(), "stream", int64(i+1), []byte(value)); err != nil {
			t.Fatal(err)
		}
		end()
		server.Start()
		want(t, s, "key", value)
		if events, err := s.Events().After(t.Context(), "stream", int64(i)); err != nil || len(events) != 1 || string(events[0]) != value {
			t.Errorf("got events %q, %v, want %q", events, err, value)
		}
		if err := s.Publish(t.Context(), "topic", []byte(value)); err != nil {
			t.Fatal(err)
		}
		select {
		case msg := <-got:
			if msg != value {
				t.Errorf("got message %q, want %q", msg, value)
			}
		case <-time.After(wait):
			t.Fatalf("restart %d: no message came", i)
		}
	}
}

func TestWritesThatAreCutAreStoredOnce(t *testing.T) {
	t.Parallel()
	server := testengine.NATS(t)
	const writers, each = 4, 100
	stores := []*natsstore.Store{open(t, server.URL, small("shop")), open(t, server.URL, small("shop"))}
	put(t, stores[0], "n", string(make([]byte, 8)))
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for n := range each {
				if n%20 == 7 {
					server.Proxy.Cut()
				}
				if err := increment(t.Context(), stores[w%2]); err != nil {
					t.Errorf("writer %d, write %d: %v", w, n, err)
				}
			}
		})
	}
	all.Wait()
	want(t, stores[0], "n", string(binary.BigEndian.AppendUint64(nil, writers*each)))
}

// A write that has failed may have happened, and none happens twice.
func TestWritesDuringCrashesAreStoredOnce(t *testing.T) {
	t.Parallel()
	server := testengine.NATS(t)
	const writers, each, crashes = 4, 200, 4
	stores := []*natsstore.Store{open(t, server.URL, small("shop")), open(t, server.URL, small("shop"))}
	put(t, stores[0], "n", string(make([]byte, 8)))
	var done, failed atomic.Uint64
	crash := make(chan struct{})
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for range each {
				if err := increment(t.Context(), stores[w%2]); err != nil {
					failed.Add(1)
				} else if n := done.Add(1); n%(writers*each/crashes) == 50 {
					crash <- struct{}{}
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { defer close(ended); all.Wait() }()
	for running := true; running; {
		select {
		case <-crash:
			server.Kill()
			server.Start()
		case <-ended:
			running = false
		}
	}
	value, _, err := stores[0].Get(t.Context(), "n")
	if err != nil {
		t.Fatal(err)
	}
	if got := binary.BigEndian.Uint64(value); got < done.Load() || got > done.Load()+failed.Load() {
		t.Errorf("got %d writes, want %d, and at most %d more that have failed", got, done.Load(), failed.Load())
	}
}

func TestWriteWithoutAnswerIsSentAgain(t *testing.T) {
	t.Parallel()
	server := testengine.NATS(t)
	one, two := pair(t, server.URL)
	ctx := t.Context()
	replaced := func() {
		if swapped, err := two.Swap(ctx, "key", []byte("one"), []byte("two"), 0); err != nil || !swapped {
			t.Fatalf("Swap: got %v, %v", swapped, err)
		}
	}
	restarted := func() { server.Kill(); server.Start() }
	large := bytes.Repeat([]byte("v"), 1<<20)
	for name, tt := range map[string]struct {
		value   []byte
		between func()
		created bool
	}{
		"nothing happens":            {[]byte("one"), func() {}, true},
		"in parts":                   {large, func() {}, true},
		"the value is replaced":      {[]byte("one"), replaced, true},
		"the server restarts":        {[]byte("one"), restarted, true},
		"in parts, with a restart":   {large, restarted, true},
		"replaced after the restart": {[]byte("one"), func() { restarted(); replaced() }, true},
		// The restarted server does not know the write any more.
		"replaced before the restart": {[]byte("one"), func() { replaced(); restarted() }, false},
	} {
		created, err := one.CreateAgain(ctx, "key", tt.value, tt.between)
		if created != tt.created || (err == nil) != tt.created {
			t.Errorf("%s: got %v, %v, want created %v, or an error", name, created, err, tt.created)
		}
		if err := one.Delete(ctx, "key"); err != nil {
			t.Fatal(err)
		}
	}
}

// increment adds one to the number of key n.
func increment(ctx context.Context, s mcp.Store) error {
	for {
		old, _, err := s.Get(ctx, "n")
		if err != nil {
			return err
		}
		next := binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(old)+1)
		if swapped, err := s.Swap(ctx, "n", old, next, 0); swapped || err != nil {
			return err
		}
	}
}

func TestLargeValuesThatAreCutAreCreatedOnce(t *testing.T) {
	t.Parallel()
	server := testengine.NATS(t)
	s := open(t, server.URL, small("shop"))
	large := bytes.Repeat([]byte("v"), 1<<20)
	for n := range 15 {
		key := fmt.Sprint("key ", n)
		var all sync.WaitGroup
		all.Go(server.Proxy.Cut)
		created, err := s.Create(t.Context(), key, large, 0)
		if err != nil || !created {
			t.Errorf("got %v, %v, want the value created", created, err)
		}
		all.Wait()
		want(t, s, key, string(large))
	}
}

func TestServerThatIsGoneFailsCallsUntilItIsBack(t *testing.T) {
	t.Parallel()
	server := testengine.NATS(t)
	s := open(t, server.URL, small("shop"))
	put(t, s, "key", "value")
	server.Stop()
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	_, _, err := s.Get(short(), "key")
	if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), `natsstore: get "key": `) {
		t.Errorf("Get: got %v, want the error of the context", err)
	}
	if err := s.Publish(short(), "topic", nil); !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), `natsstore: publish on "topic": `) {
		t.Errorf("Publish: got %v, want the error of the context", err)
	}
	server.Start()
	want(t, s, "key", "value")
}

func TestFailedWriteIsNotSentLater(t *testing.T) {
	t.Parallel()
	server := testengine.NATS(t)
	s := open(t, server.URL, small("shop"))
	server.Proxy.Refuse()
	server.Proxy.Cut()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := s.Put(ctx, "key", []byte("value"), 0); err == nil {
		t.Fatal("got no error without a connection")
	}
	server.Proxy.Accept()
	put(t, s, "other", "value") // waits until it is connected again
	want(t, s, "key", "")
}

func TestShortTimesToLiveAreRoundedUp(t *testing.T) {
	t.Parallel()
	s := open(t, testengine.NATS(t).URL, small("shop"))
	if err := s.Put(t.Context(), "key", []byte("value"), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	for latest := time.Now().Add(wait); ; {
		_, found, err := s.Get(t.Context(), "key")
		if err != nil {
			t.Fatal(err)
		}
		if !found {
			break
		}
		if time.Now().After(latest) {
			t.Fatalf("the value is there after %v", wait)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err := s.Put(t.Context(), "key", nil, -1); err == nil {
		t.Error("got no error for a negative time to live")
	}
}

func TestNamespacesAreApart(t *testing.T) {
	t.Parallel()
	server := testengine.NATS(t)
	one, two := open(t, server.URL, small("shop")), open(t, server.URL, small("shop-2"))
	got := make(chan string, 10)
	cancel, err := two.Subscribe(t.Context(), "topic", func(msg []byte) { got <- string(msg) })
	if err != nil {
		t.Fatal(err)
	}
	defer cancel()
	put(t, one, "key", "one")
	want(t, two, "key", "")
	put(t, two, "key", "two")
	want(t, one, "key", "one")
	if err := one.Events().Append(t.Context(), "stream", 1, []byte("event")); err != nil {
		t.Fatal(err)
	}
	if events, err := two.Events().After(t.Context(), "stream", 0); err != nil || len(events) != 0 {
		t.Errorf("got %d events of another namespace, %v", len(events), err)
	}
	for _, s := range []mcp.Bus{one, two} {
		if err := s.Publish(t.Context(), "topic", fmt.Appendf(nil, "%v", s == two)); err != nil {
			t.Fatal(err)
		}
	}
	if msg := <-got; msg != "true" {
		t.Error("got a message of another namespace")
	}
}

// A server whose messages are small stores large values and events in many parts.
func TestReadersGetWholeValues(t *testing.T) {
	t.Parallel()
	server := configured(t, "max_payload: 65536")
	one, two := pair(t, server.URL)
	var writes, reads sync.WaitGroup
	for _, c := range []string{"a", "b"} {
		writes.Go(func() {
			for n := range 20 {
				put(t, one, "key", strings.Repeat(c, 1<<20-n*50_000))
			}
		})
	}
	done := make(chan struct{})
	reads.Go(func() {
		for {
			value, _, err := two.Get(t.Context(), "key")
			// A reader may get no value in time while it is replaced again and again.
			if err != nil && !errors.Is(err, context.DeadlineExceeded) || len(value) > 0 && bytes.Count(value, value[:1]) != len(value) {
				t.Errorf("got a value of several writes, %v", err)
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	writes.Wait()
	close(done)
	reads.Wait()
	put(t, one, "key", "small")
	want(t, two, "key", "small")
}

func TestDeletedKeyLeavesNoParts(t *testing.T) {
	t.Parallel()
	server := configured(t, "max_payload: 65536")
	s := open(t, server.URL, small("shop"))
	for _, value := range []string{strings.Repeat("v", 300_000), "small"} {
		put(t, s, "key", strings.Repeat("v", 300_000))
		put(t, s, "key", value)
		if err := s.Delete(t.Context(), "key"); err != nil {
			t.Fatal(err)
		}
		want(t, s, "key", "")
		stream, err := jetStream(t, server.URL).Stream(t.Context(), "shop_STORE")
		if err != nil {
			t.Fatal(err)
		}
		if n := stream.CachedInfo().State.Msgs; n != 0 {
			t.Errorf("the stream has %d messages without a key", n)
		}
	}
}

func TestEventsMayBeLargerThanMessages(t *testing.T) {
	t.Parallel()
	server := configured(t, "max_payload: 65536")
	one, two := pair(t, server.URL)
	for n := range int64(5) {
		event := bytes.Repeat([]byte{'a' + byte(n)}, 300_000)
		if err := one.Events().Append(t.Context(), "stream", n+1, event); err != nil {
			t.Fatal(err)
		}
	}
	if err := one.Events().Trim(t.Context(), "stream", 2); err != nil {
		t.Fatal(err)
	}
	events, err := two.Events().After(t.Context(), "stream", 0)
	if err != nil || len(events) != 3 {
		t.Fatalf("got %d events, %v, want 3", len(events), err)
	}
	for i, event := range events {
		if len(event) != 300_000 || bytes.Count(event, []byte{'c' + byte(i)}) != len(event) {
			t.Errorf("event %d is not the one that was appended", i+3)
		}
	}
	if err := one.Events().Trim(t.Context(), "stream", math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	if events, err := two.Events().After(t.Context(), "stream", 0); err != nil || len(events) != 0 {
		t.Errorf("got %d events of a stream that has ended, %v", len(events), err)
	}
}

func TestFullStoreRefusesWritesUntilThereIsRoom(t *testing.T) {
	t.Parallel()
	opts := small("shop")
	opts.MaxBytes = 1 << 20
	s := open(t, testengine.NATS(t).URL, opts)
	value := strings.Repeat("v", 200_000)
	put(t, s, "first", value)
	var full error
	for n := 0; full == nil && n < 20; n++ {
		full = s.Put(t.Context(), fmt.Sprint("key ", n), []byte(value), 0)
	}
	if full == nil || !strings.Contains(full.Error(), "maximum bytes") {
		t.Errorf("got %v, want the limit of bytes", full)
	}
	want(t, s, "first", value)
	if err := s.Delete(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}
	put(t, s, "second", value)
}

func TestSlowSubscriberLosesItsOldestMessages(t *testing.T) {
	t.Parallel()
	one, two := pair(t, testengine.NATS(t).URL)
	free, got := make(chan struct{}), make(chan int, 3000)
	cancel, err := one.Subscribe(t.Context(), "topic", func(msg []byte) {
		<-free
		got <- int(binary.BigEndian.Uint32(msg))
	})
	if err != nil {
		t.Fatal(err)
	}
	defer cancel()
	passed := make(chan struct{})
	end, err := one.Subscribe(t.Context(), "end", func([]byte) { close(passed) })
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	const sent = 3000
	for n := range uint32(sent) {
		if err := two.Publish(t.Context(), "topic", binary.BigEndian.AppendUint32(nil, n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := two.Publish(t.Context(), "end", nil); err != nil {
		t.Fatal(err)
	}
	<-passed
	close(free)
	last, count := -1, 0
	for last < sent-1 {
		select {
		case n := <-got:
			if n <= last {
				t.Fatalf("got message %d after %d", n, last)
			}
			last = n
			count++
		case <-time.After(wait):
			t.Fatalf("got message %d as the last one, want %d", last, sent-1)
		}
	}
	if count == sent {
		t.Error("got every message, want that a bounded queue has lost some")
	}
}

func TestCallsAfterCloseFail(t *testing.T) {
	t.Parallel()
	s := open(t, testengine.NATS(t).URL, small("shop"))
	cancel, err := s.Subscribe(t.Context(), "topic", func([]byte) {})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if _, _, err := s.Get(t.Context(), "key"); err == nil {
		t.Error("Get: got no error")
	}
	if err := s.Publish(t.Context(), "topic", nil); err == nil {
		t.Error("Publish: got no error")
	}
	if _, err := s.Subscribe(t.Context(), "topic", func([]byte) {}); err == nil {
		t.Error("Subscribe: got no error")
	}
	if err := s.Events().Append(t.Context(), "stream", 1, nil); err == nil {
		t.Error("Append: got no error")
	}
}
