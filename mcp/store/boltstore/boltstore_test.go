//go:build unix || windows

package boltstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcptest"
	"github.com/fondaco/fondaco/mcp/store/boltstore"
)

// open opens a file for a test.
func open(t *testing.T, path string, o *boltstore.Options) *boltstore.Store {
	t.Helper()
	s, err := boltstore.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func newPath(t *testing.T) string { return filepath.Join(t.TempDir(), "state.db") }

func TestStorePassesItsChecks(t *testing.T) {
	t.Parallel()
	mcptest.CheckStore(t, func(t *testing.T) (one, two mcp.Store) {
		s := open(t, newPath(t), nil)
		return s, s
	})
	mcptest.CheckBus(t, func(t *testing.T) (one, two mcp.Bus) {
		s := open(t, newPath(t), nil)
		return s, s
	})
	mcptest.CheckEventStore(t, func(t *testing.T) (one, two mcp.EventStore) {
		e := open(t, newPath(t), nil).Events()
		return e, e
	})
}

func TestFullFilePassesItsCheck(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t), &boltstore.Options{MaxBytes: 8 << 20})
	mcptest.CheckFaults(t, mcptest.Engine{
		Open: func(*testing.T) (mcp.Store, mcp.Bus, mcp.EventStore) { return s, s, s.Events() },
		Fill: func() {}, // a few MiB are left
		Drain: func() {
			keys, err := s.List(t.Context(), "", "", 1000)
			for _, key := range keys {
				if strings.Contains(key, "/full/") && err == nil {
					err = s.Delete(t.Context(), key)
				}
			}
			if err != nil {
				t.Error(err)
			}
		},
		OneClock: true,
	})
}

func TestStateSurvivesAReopen(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	s := open(t, path, nil)
	for key, ttl := range map[string]time.Duration{"kept": 0, "long": time.Hour, "longest": math.MaxInt64, "short": time.Nanosecond} {
		if err := s.Put(t.Context(), key, []byte(key), ttl); err != nil {
			t.Fatal(err)
		}
	}
	for n := int64(1); n <= 3; n++ {
		if err := s.Events().Append(t.Context(), "stream", n, []byte("event")); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, nil)
	if keys, err := s.List(t.Context(), "", "", 10); err != nil || strings.Join(keys, " ") != "kept long longest" {
		t.Errorf("got %q, %v, want the values that have not expired", keys, err)
	}
	if msgs, err := s.Events().After(t.Context(), "stream", 1); err != nil || len(msgs) != 2 {
		t.Errorf("got %q, %v, want 2 events", msgs, err)
	}
}

func TestSecondOpenNamesTheProcess(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	s := open(t, path, nil)
	if _, err := boltstore.Open(t.Context(), path, nil); err == nil || !strings.Contains(err.Error(), "this process") {
		t.Errorf("in this process: got %v, want that it has the file", err)
	}
	output := child(t, "open", path)
	if want := fmt.Sprintf("process %d has it open", os.Getpid()); !strings.Contains(output, want) {
		t.Errorf("in another process: got %q, want %q", output, want)
	}
	if err := s.Put(t.Context(), "key", nil, 0); err != nil {
		t.Errorf("the first one: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if output := child(t, "open", path); !strings.Contains(output, "opened") {
		t.Errorf("after Close: got %q, want that it opens", output)
	}
	if _, err := os.Stat(path + ".pid"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want no file that names a process after Close", err)
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	t.Parallel()
	for name, content := range map[string][]byte{
		"text":    []byte("not a database"),
		"zeros":   make([]byte, 1<<16),
		"garbage": bytes.Repeat([]byte{0xed, 0xda, 0x0c, 0xed}, 1<<14),
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := boltstore.Open(t.Context(), path, nil); err == nil {
			s.Close()
			t.Errorf("%s: got no error", name)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: the file was changed", name)
		}
	}
	if _, err := boltstore.Open(t.Context(), filepath.Join(t.TempDir(), "none", "state.db"), nil); err == nil {
		t.Error("a directory that does not exist: got no error")
	}
	if _, err := boltstore.Open(t.Context(), newPath(t), &boltstore.Options{MaxBytes: -1}); err == nil {
		t.Error("MaxBytes -1: got no error")
	}
}

func TestPagesAreUsedAgain(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	s := open(t, path, nil)
	value := bytes.Repeat([]byte{'v'}, 1<<20)
	for n := range 100 {
		if err := s.Put(t.Context(), fmt.Sprint("key", n%2), value, 0); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > 32<<20 {
		t.Errorf("got a file of %d bytes, %v, for 2 MiB that were written 50 times", info.Size(), err)
	}
}

func TestExpiredValuesAreRemovedFromTheFile(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t), nil)
	const many = 1200 // more than are removed in one transaction
	for n := range many {
		if err := s.Put(t.Context(), fmt.Sprint("short", n), nil, time.Nanosecond); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Put(t.Context(), "short1", nil, time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "short2", nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if values, expiries := s.Stored(); values != 2 || expiries != 1 {
		t.Errorf("got %d values and %d expiries in the file, want 2 and 1", values, expiries)
	}
}

func TestOldestStreamsMakeRoom(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	o := &boltstore.Options{MaxEventBytes: 10_000}
	s := open(t, path, o)
	event := make([]byte, 2_000)
	appendTo := func(stream string, n int64) error { return s.Events().Append(t.Context(), stream, n, event) }
	for _, stream := range []string{"a", "b", "c", "d"} {
		if err := appendTo(stream, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(appendTo("a", 2), appendTo("e", 1)); err != nil { // b and c have to make room
		t.Fatal(err)
	}
	count := func(stream string) int {
		msgs, err := s.Events().After(t.Context(), stream, 0)
		if err != nil {
			t.Fatal(err)
		}
		return len(msgs)
	}
	for stream, want := range map[string]int{"a": 2, "b": 0, "c": 0, "d": 1, "e": 1} {
		if got := count(stream); got != want {
			t.Errorf("stream %s: got %d events, want %d", stream, got, want)
		}
	}
	for n := int64(3); n <= 7; n++ {
		if err := appendTo("a", n); err != nil {
			t.Fatal(err)
		}
	}
	if msgs, err := s.Events().After(t.Context(), "a", 3); err != nil || len(msgs) != 4 || count("a") != 4 || count("e") != 0 {
		t.Errorf("got %d events, %v, want the latest 4 of the only stream", len(msgs), err)
	}
	if err := s.Events().Append(t.Context(), "a", 8, make([]byte, 20_000)); err != nil || count("a") != 0 {
		t.Errorf("an event larger than all may be: got %v and %d events, want none", err, count("a"))
	}
	if err := errors.Join(appendTo("a", 9), appendTo("a", 9)); err != nil || count("a") != 1 {
		t.Errorf("got %v and %d events, want the one after it", err, count("a"))
	}
	s.Close()
	s = open(t, path, &boltstore.Options{MaxEventBytes: 10_000, MaxEventAge: time.Nanosecond})
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := count("a"); got != 0 {
		t.Errorf("got %d events of an old stream, want none", got)
	}
}

func TestWritesWaitWithTheirContext(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t), nil)
	release := s.Turn()
	defer release()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := s.Put(ctx, "key", nil, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that the context has ended", err)
	}
	if _, _, err := s.Get(t.Context(), "key"); err != nil {
		t.Errorf("Get during a write: %v", err)
	}
}

func TestClosedStoreFails(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t), nil)
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	_, _, getErr := s.Get(t.Context(), "key")
	_, subscribeErr := s.Subscribe(t.Context(), "topic", func([]byte) {})
	for operation, err := range map[string]error{
		"put": s.Put(t.Context(), "key", nil, 0), "get": getErr, "append": s.Events().Append(t.Context(), "s", 1, nil),
		"publish": s.Publish(t.Context(), "topic", nil), "subscribe": subscribeErr,
	} {
		if want := "boltstore: " + operation + ": the store is closed"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestCloseEndsSubscriptions(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t), nil)
	running, ended := make(chan struct{}), new(atomic.Bool)
	cancel, err := s.Subscribe(t.Context(), "topic", func([]byte) {
		close(running)
		for range 100 { // so that Close comes before the end
			runtime.Gosched()
		}
		ended.Store(true)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Publish(t.Context(), "topic", nil); err != nil {
		t.Fatal(err)
	}
	<-running
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if !ended.Load() {
		t.Error("a function of a subscriber runs after Close")
	}
	cancel()
	cancel()
}

func TestErrorsOfTheBusNameThePackage(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t), nil)
	_, subscribeErr := s.Subscribe(t.Context(), "", func([]byte) {})
	for operation, err := range map[string]error{"publish": s.Publish(t.Context(), "", nil), "subscribe": subscribeErr} {
		if err == nil || !strings.HasPrefix(err.Error(), "boltstore: "+operation+": ") {
			t.Errorf("got %v, want an error of boltstore", err)
		}
	}
}
