package redisstore_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/testengine"
	"github.com/fondaco/fondaco/mcp/store/redisstore"
)

func TestNamespacesShareNothing(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	url := server.URL
	stores := []*redisstore.Store{
		open(t, url, redisstore.Options{Namespace: "a"}),
		open(t, url, redisstore.Options{Namespace: "a.b"}),
		open(t, url+"/1", redisstore.Options{Namespace: "a"}), // channels belong to all databases
	}
	var boxes []*inbox
	for i, s := range stores {
		boxes = append(boxes, subscribe(t, s, "topic"))
		put(t, s, "key", fmt.Sprint(i))
		put(t, s, fmt.Sprint("key", i), "")
		if err := s.Events().Append(t.Context(), "s", 1, fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range stores {
		for range 20 {
			if err := s.Publish(t.Context(), "topic", nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, s := range stores {
		want(t, s, "key", fmt.Sprint(i))
		if keys, err := s.List(t.Context(), "", "", 10); err != nil || !slices.Equal(keys, []string{"key", fmt.Sprint("key", i)}) {
			t.Errorf("List of %d: got %q, %v, want its two keys", i, keys, err)
		}
		if events, err := s.Events().After(t.Context(), "s", 0); err != nil || len(events) != 1 || string(events[0]) != fmt.Sprint(i) {
			t.Errorf("After of %d: got %q, %v, want its event", i, events, err)
		}
		eventually(t, "20 messages arrive", func() bool { return len(boxes[i].all()) >= 20 })
	}
	for i, b := range boxes { // the others have all arrived, because each server publishes in order
		if n := len(b.all()); n != 20 {
			t.Errorf("%d messages arrived at %d, want 20", n, i)
		}
	}
}

func TestListIsReadInSteps(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	s := open(t, server.URL, redisstore.Options{})
	var all []string
	for n := range 1300 {
		key := fmt.Sprintf("key/%04d", n)
		ttl := time.Duration(0)
		if n%2 == 0 || n < 700 {
			ttl = time.Millisecond // expired before List
		} else {
			all = append(all, key)
		}
		if err := s.Put(t.Context(), key, nil, ttl); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s, "l", "") // after the prefix
	eventually(t, "the last value expires", func() bool {
		_, found, err := s.Get(t.Context(), "key/1298")
		return err == nil && !found
	})
	for _, limit := range []int{1, 299, 300, 301, 1 << 40} {
		keys, err := s.List(t.Context(), "key/", "", limit)
		if err != nil || !slices.Equal(keys, all[:min(limit, len(all))]) {
			t.Errorf("limit %d: got %d keys, %v, want the first of %d", limit, len(keys), err, len(all))
		}
	}
}

// A server that always has more keys, none of which has a value.
func TestTimeoutBoundsTheWholeList(t *testing.T) {
	t.Parallel()
	page := "*3\r\n:500\r\n$1\r\na\r\n*0\r\n"
	s := open(t, fakeServer(t, map[string]string{"evalsha": page}), redisstore.Options{Timeout: 2 * time.Second})
	ctx, cancel := context.WithTimeout(t.Context(), maxWait)
	defer cancel()
	if keys, err := s.List(ctx, "", "", 1000); err == nil || !strings.Contains(err.Error(), "within 2s") {
		t.Errorf("got %d keys, %v, want no answer within 2s", len(keys), err)
	}
}

// fakeServer is a Redis that has one answer for each command. It returns its URL.
func fakeServer(t *testing.T, answers map[string]string) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go answerAll(conn, answers)
		}
	}()
	return "redis://" + l.Addr().String()
}

// answerAll reads commands, which are arrays of strings that have a line with their size each.
func answerAll(conn net.Conn, answers map[string]string) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		n, _ := strconv.Atoi(strings.TrimPrefix(lines.Text(), "*"))
		var name string
		for i := range n {
			_ = lines.Scan() // the size
			if !lines.Scan() {
				return
			}
			if i == 0 {
				name = strings.ToLower(lines.Text())
			}
		}
		answer := answers[name]
		switch {
		case name == "hello":
			answer = "*6\r\n+version\r\n+7.0.15\r\n+mode\r\n+standalone\r\n+role\r\n+master\r\n"
		case answer == "":
			answer = "-ERR unknown command\r\n"
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
	}
}

// Marks of used tokens are created, expire, and are never listed.
func TestExpiredKeysThatNobodyListsDoNotFillTheServer(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	s := open(t, server.URL, redisstore.Options{Namespace: "n"})
	for n := range 100 {
		put(t, s, fmt.Sprint("kept/", n), "")
	}
	for n := range 3000 {
		if created, err := s.Create(t.Context(), fmt.Sprint("used/", n), nil, time.Millisecond); err != nil || !created {
			t.Fatalf("Create: got %v, %v", created, err)
		}
	}
	known := redisClient(t, server).ZCard(t.Context(), "{n}:keys").Val()
	if known < 100 || known > 400 {
		t.Errorf("the server knows %d keys, want 100 and some expired ones", known)
	}
}

func TestDeletedKeysLeaveNothing(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	s := open(t, server.URL, redisstore.Options{})
	put(t, s, "a", "1")
	if err := s.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := s.Events().Append(t.Context(), "s", 1, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Events().Trim(t.Context(), "s", 1<<63-1); err != nil {
		t.Fatal(err)
	}
	if keys := redisClient(t, server).Keys(t.Context(), "*").Val(); len(keys) > 1 { // the size of no streams
		t.Errorf("got %q, want no keys", keys)
	}
}

func TestScriptsThatTheServerHasForgottenAreSentAgain(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	s := open(t, server.URL, redisstore.Options{})
	wantNoErrors(t, s)
	if err := redisClient(t, server).ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	wantNoErrors(t, s)
}

func TestTimesToLiveAreChecked(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	s := open(t, server.URL, redisstore.Options{Namespace: "n"})
	if err := s.Put(t.Context(), "a", nil, -1); err == nil || !strings.Contains(err.Error(), "time to live") {
		t.Errorf("-1ns: got %v, want an error", err)
	}
	if err := s.Put(t.Context(), "a", nil, time.Nanosecond); err != nil { // is not 0, which is for ever
		t.Fatal(err)
	}
	eventually(t, "the value expires", func() bool {
		_, found, err := s.Get(t.Context(), "a")
		return err == nil && !found
	})
	if err := s.Put(t.Context(), "b", nil, 1<<63-1); err != nil {
		t.Errorf("292 years: %v", err)
	}
	if ms, err := redisClient(t, server).Do(t.Context(), "PTTL", "{n}:value:b").Int64(); err != nil || ms < 1<<43 {
		t.Errorf("292 years: the server keeps the value for %d ms, %v", ms, err)
	}
}
