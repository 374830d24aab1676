package redisstore_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fondaco/fondaco/internal/testengine"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/store/redisstore"
)

func appendEvents(t *testing.T, e mcp.EventStore, size int, numbers ...int64) {
	t.Helper()
	for _, n := range numbers {
		if err := e.Append(t.Context(), "s", n, bytes.Repeat([]byte{'0' + byte(n)}, size)); err != nil {
			t.Fatalf("Append %d: %v", n, err)
		}
	}
}

// wantEvents checks the first bytes of the events after number n.
func wantEvents(t *testing.T, e mcp.EventStore, n int64, want string) {
	t.Helper()
	events, err := e.After(t.Context(), "s", n)
	var got []byte
	for _, event := range events {
		got = append(got, event[0])
	}
	if err != nil || string(got) != want {
		t.Errorf("After %d: got the events %s, %v, want %s", n, got, err, want)
	}
}

func TestOldestEventsAreRemovedWhenTheyAreTooManyBytes(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	e := open(t, server.URL, redisstore.Options{MaxEventBytes: 3 * (100 + 64)}).Events()
	appendEvents(t, e, 100, 1, 2, 3)
	wantEvents(t, e, 0, "123")
	appendEvents(t, e, 100, 4)
	wantEvents(t, e, 0, "234")
	appendEvents(t, e, 200, 5)
	wantEvents(t, e, 0, "45")
	if err := e.Trim(t.Context(), "s", 5); err != nil {
		t.Fatal(err)
	}
	appendEvents(t, e, 100, 6, 7, 8)
	wantEvents(t, e, 0, "678")
	appendEvents(t, e, 1000, 9) // which is too large itself
	wantEvents(t, e, 0, "")
	appendEvents(t, e, 100, 10)
	wantEvents(t, e, 0, ":")
}

func TestStreamsThatGotNoEventForLongestAreRemovedFirst(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	e := open(t, server.URL, redisstore.Options{Namespace: "n", MaxEventBytes: 4 * (100 + 64)}).Events()
	add := func(stream string, n int64) {
		t.Helper()
		if err := e.Append(t.Context(), stream, n, make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		for clock := time.Now(); time.Since(clock) < 2*time.Millisecond; { // the server counts milliseconds
		}
	}
	wantCounts := func(want ...int) {
		t.Helper()
		for i, stream := range []string{"a", "b", "c"} {
			if events, err := e.After(t.Context(), stream, 0); err != nil || len(events) != want[i] {
				t.Errorf("stream %s has %d events, %v, want %d", stream, len(events), err, want[i])
			}
		}
	}
	add("a", 1)
	add("b", 1)
	add("b", 2)
	add("a", 2)
	wantCounts(2, 2, 0)
	add("c", 1)
	wantCounts(2, 0, 1)
	if err := e.Trim(t.Context(), "a", math.MaxInt64); err != nil { // which makes room
		t.Fatal(err)
	}
	for n := range int64(3) {
		add("c", n+2)
	}
	wantCounts(0, 0, 4)
	add("c", 5)
	wantCounts(0, 0, 4)
	if err := e.Trim(t.Context(), "c", math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	client := redisClient(t, server)
	if sizes := client.HGetAll(t.Context(), "{n}:event-bytes").Val(); len(sizes) != 1 || sizes[""] != "0" {
		t.Errorf("without streams their sizes are %v, want 0 in all", sizes)
	}
}

func TestExpiredStreamsMakeRoom(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	s := open(t, server.URL, redisstore.Options{Namespace: "n"})
	client := redisClient(t, server)
	for i := range 25 {
		name := fmt.Sprint("old-", i)
		if err := s.Events().Append(t.Context(), name, 1, nil); err != nil {
			t.Fatal(err)
		}
		client.ZAdd(t.Context(), "{n}:event-times", redis.Z{Member: name}) // a long time ago
		client.Del(t.Context(), "{n}:events:"+name)
	}
	n := int64(0)
	eventually(t, "the old streams are forgotten", func() bool {
		n++
		if err := s.Events().Append(t.Context(), "new", n, nil); err != nil {
			t.Fatal(err)
		}
		return client.ZCard(t.Context(), "{n}:event-times").Val() == 1
	})
	total, err := client.HGet(t.Context(), "{n}:event-bytes", "").Int64()
	if err != nil || total != n*64 {
		t.Errorf("the size of all streams is %d, %v, want %d", total, err, n*64)
	}
}

func TestEventsBeforeAGapAreRemoved(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	e := open(t, server.URL, redisstore.Options{}).Events()
	appendEvents(t, e, 1, 1, 2, 4, 5)
	wantEvents(t, e, 0, "45")
	wantEvents(t, e, 4, "5")
}

func TestEventsAreAppendedInOrder(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	e := open(t, server.URL, redisstore.Options{}).Events()
	appendEvents(t, e, 1, 1, 2, 3, 2, 3) // a repetition is no error
	wantEvents(t, e, 0, "123")
	for n, msg := range map[int64]string{2: "other", 0: "0", -1: "-1"} {
		if err := e.Append(t.Context(), "s", n, []byte(msg)); err == nil {
			t.Errorf("Append %d after 3: got no error", n)
		}
	}
	if err := e.Append(t.Context(), strings.Repeat("s", 65), 1, nil); err == nil {
		t.Error("a name of 65 bytes: got no error")
	}
	wantEvents(t, e, 0, "123")
	if err := e.Trim(t.Context(), "s", 2); err != nil {
		t.Fatal(err)
	}
	appendEvents(t, e, 1, 2, 3)
	wantEvents(t, e, 0, "3")
}

func TestEventsExpireAfterTheLastOne(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	e := open(t, server.URL, redisstore.Options{Namespace: "n", MaxEventAge: time.Hour}).Events()
	client := redisClient(t, server)
	const stream = "{n}:events:s"
	appendEvents(t, e, 1, 1)
	if ttl := client.PTTL(t.Context(), stream).Val(); ttl <= 0 || ttl > time.Hour {
		t.Errorf("the stream expires after %v, want an hour", ttl)
	}
	client.Expire(t.Context(), stream, 10*time.Minute)
	appendEvents(t, e, 1, 2)
	if ttl := client.PTTL(t.Context(), stream).Val(); ttl < 30*time.Minute {
		t.Errorf("after another event the stream expires after %v, want an hour", ttl)
	}
	if err := e.Trim(t.Context(), "s", 1); err != nil {
		t.Fatal(err)
	}
	if ttl := client.PTTL(t.Context(), stream).Val(); ttl <= 0 {
		t.Errorf("after Trim the stream expires after %v, want an hour", ttl)
	}
}
