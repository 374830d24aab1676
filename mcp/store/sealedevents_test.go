package store_test

import (
	"bytes"
	"context"
	"math"
	"slices"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/store"
)

// memoryEvents is an engine whose events a test can change. It refuses other bytes for an event
// that it has, as redisstore does.
type memoryEvents map[string][][]byte

func (m memoryEvents) Append(_ context.Context, stream string, n int64, msg []byte) error {
	if n <= int64(len(m[stream])) {
		if !bytes.Equal(m[stream][n-1], msg) {
			return context.DeadlineExceeded
		}
		return nil
	}
	m[stream] = append(m[stream], msg)
	return nil
}

func (m memoryEvents) After(_ context.Context, stream string, n int64) ([][]byte, error) {
	return m[stream][min(n, int64(len(m[stream]))):], nil
}

func (m memoryEvents) Trim(_ context.Context, stream string, n int64) error {
	if n == math.MaxInt64 {
		delete(m, stream)
	}
	return nil
}

func sealedEvents(t *testing.T, e mcp.EventStore, ids ...string) mcp.EventStore {
	t.Helper()
	var keys []mcpserver.Key
	for _, id := range ids {
		keys = append(keys, key(id))
	}
	wrapped, err := store.SealedEvents(e, keys...)
	if err != nil {
		t.Fatal(err)
	}
	return wrapped
}

// appended returns an engine with three events of stream "s", and one of "t".
func appended(t *testing.T, ids ...string) memoryEvents {
	t.Helper()
	engine := make(memoryEvents)
	s := sealedEvents(t, engine, ids...)
	for i, msg := range []string{"one", "two", "three"} {
		if err := s.Append(t.Context(), "s", int64(i+1), []byte(msg)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Append(t.Context(), "t", 1, []byte("one")); err != nil {
		t.Fatal(err)
	}
	return engine
}

func TestForgedEventsAreRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-294")
	for name, forge := range map[string]func(memoryEvents){
		"plain text":           func(m memoryEvents) { m["s"][1] = []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`) },
		"empty":                func(m memoryEvents) { m["s"][1] = nil },
		"a changed bit":        func(m memoryEvents) { m["s"][1][len(m["s"][1])-1] ^= 1 },
		"another number":       func(m memoryEvents) { m["s"][1][7] ^= 1 },
		"a cut end":            func(m memoryEvents) { m["s"][1] = m["s"][1][:len(m["s"][1])-1] },
		"a cut sum":            func(m memoryEvents) { m["s"][1] = m["s"][1][:20] },
		"of another stream":    func(m memoryEvents) { m["s"][0] = m["t"][0] },
		"in another order":     func(m memoryEvents) { m["s"][0], m["s"][1] = m["s"][1], m["s"][0] },
		"the same event twice": func(m memoryEvents) { m["s"][1] = m["s"][0] },
		"of a key that is not known": func(m memoryEvents) {
			m["s"] = appended(t, "b")["s"]
		},
	} {
		engine := appended(t, "a")
		forge(engine)
		if msgs, err := sealedEvents(t, engine, "a").After(t.Context(), "s", 0); err == nil {
			t.Errorf("%s: got %q, want an error", name, msgs)
		}
	}
}

func TestEventsAreEncryptedAndTheirKeysRotate(t *testing.T) {
	t.Parallel()
	engine := appended(t, "a")
	for _, text := range engine["s"] {
		if bytes.Contains(text, []byte("one")) || bytes.Contains(text, []byte("three")) {
			t.Errorf("got %q, want no plaintext", text)
		}
	}
	s := sealedEvents(t, engine, "b", "a")
	if err := s.Append(t.Context(), "s", 4, []byte("four")); err != nil {
		t.Fatal(err)
	}
	msgs, err := s.After(t.Context(), "s", 1)
	want := [][]byte{[]byte("two"), []byte("three"), []byte("four")}
	if err != nil || !slices.EqualFunc(msgs, want, bytes.Equal) {
		t.Errorf("got %q, %v, want %q", msgs, err, want)
	}
}

func TestEventIsAppendedAgainAfterAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	engine := appended(t, "a")
	if err := sealedEvents(t, engine, "a").Append(t.Context(), "s", 2, []byte("two")); err != nil {
		t.Errorf("got %v, want that an equal event is accepted", err)
	}
}

func TestSealedEventsNeedAKey(t *testing.T) {
	t.Parallel()
	if _, err := store.SealedEvents(make(memoryEvents)); err == nil {
		t.Error("got no error without keys")
	}
}
