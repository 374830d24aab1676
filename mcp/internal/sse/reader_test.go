package sse_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/sse"
)

// readAll returns every event of in, one line each, and the final error.
func readAll(in io.Reader, limit int) (string, error) {
	var events strings.Builder
	r := sse.NewReader(in, limit)
	for {
		ev, err := r.Next()
		if err != nil {
			return events.String(), err
		}
		data := "none"
		if ev.Data != nil {
			data = fmt.Sprintf("%q", ev.Data)
		}
		fmt.Fprintf(&events, "%s|%s|%d|%s\n", ev.ID, ev.Name, ev.Retry.Milliseconds(), data)
	}
}

func TestReaderFollowsTheStandard(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-136b")
	longest := fmt.Sprint(math.MaxInt64 / int64(time.Millisecond))
	for _, tt := range []struct{ name, stream, want string }{
		// The examples of the standard.
		{"three lines", "data: YHOO\ndata: +2\ndata: 10\n\n", "||0|\"YHOO\\n+2\\n10\"\n"},
		{
			"four blocks", ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
			"1||0|\"first event\"\n||0|\"second event\"\n||0|\" third event\"\n",
		},
		{"data without value", "data\n\ndata\ndata\n\ndata:", "||0|\"\"\n||0|\"\\n\"\n"},
		{"one optional space", "data:test\n\ndata: test\n\n", "||0|\"test\"\n||0|\"test\"\n"},

		{"CR", "data: a\rdata: b\r\rdata: c\r\r", "||0|\"a\\nb\"\n||0|\"c\"\n"},
		{"CRLF", "data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", "||0|\"a\\nb\"\n||0|\"c\"\n"},
		{"mixed ends", "data: a\r\n\rdata: b\n\r\ndata: c\r\n\n", "||0|\"a\"\n||0|\"b\"\n||0|\"c\"\n"},
		{"many blank lines", "\n\n\r\r\n\ndata: a\n\n\n\n", "||0|\"a\"\n"},
		{"byte order mark", "\ufeffdata: a\n\n", "||0|\"a\"\n"},
		{"second byte order mark", "\ufeff\ufeffdata: a\n\n", ""},
		{"mark on a later line", "\n\ufeffdata: a\n\n", ""},
		{"mark before a comment", "\ufeff: c\ndata: a\n\n", "||0|\"a\"\n"},

		{"name", "event: endpoint\ndata: /m\n\ndata: x\n\n", "|endpoint|0|\"/m\"\n||0|\"x\"\n"},
		{"last name wins", "event: a\nevent: b\ndata:\n\n", "|b|0|\"\"\n"},
		{"empty name", "event: a\nevent\ndata:\n\n", "||0|\"\"\n"},
		{"name without data", "event: a\n\ndata: x\n\n", "||0|\"x\"\n"},
		{"unknown and miscased fields", "Data: a\nDATA: a\n data: a\ndata : a\nfoo: a\nfoo\ndata: b\n\n", "||0|\"b\"\n"},
		{"comments", ":\n: a\n:data: b\n\ndata: x\n: c\ndata: y\n\n", "||0|\"x\\ny\"\n"},
		{"colons in a value", "data: a:b: c\n\n", "||0|\"a:b: c\"\n"},

		{"id stays", "id: 1\ndata: a\n\ndata: b\n\n", "1||0|\"a\"\n1||0|\"b\"\n"},
		{"id with NUL is ignored", "id: 1\ndata: a\n\nid: 2\x00\ndata: b\n\n", "1||0|\"a\"\n1||0|\"b\"\n"},
		{"id without data", "id: 1\nevent: x\n\ndata: a\n\n", "1||0|none\n1||0|\"a\"\n"},
		{"id of a dropped event", "id: 1\ndata: a\n\nid: 2\ndata: b\n", "1||0|\"a\"\n"},
		{"primed stream", "id: 1\nretry: 500\ndata:\n\n", "1||500|\"\"\n"},

		{"retry alone", "retry: 1500\n\n", "||1500|none\n"},
		{"retry zero", "retry: 0\ndata: x\n\n", "||1|\"x\"\n"},
		{"retry does not stay", "retry: 5\ndata: a\n\ndata: b\n\n", "||5|\"a\"\n||0|\"b\"\n"},
		{"retry beyond all bounds", "retry: 99999999999999999999999\n\n", "||" + longest + "|none\n"},
		{"retry that is no number", "retry: 1s\nretry: -1\nretry: +1\nretry: 1.5\nretry:  1\nretry: ١\nretry\nretry:\ndata: a\n\n", "||0|\"a\"\n"},

		{"cut before the blank line", "data: a\n", ""},
		{"cut in a line", "data: a\n\ndata: b", "||0|\"a\"\n"},
		{"cut after CR", "data: a\r\n\r", "||0|\"a\"\n"},
		{"nothing", "", ""},
		{"any bytes", "data: \xff\x00\u2028\n\n", "||0|\"\\xff\\x00\\u2028\"\n"},
	} {
		for name, in := range map[string]io.Reader{
			"at once":      strings.NewReader(tt.stream),
			"byte by byte": iotest.OneByteReader(strings.NewReader(tt.stream)),
		} {
			got, err := readAll(in, 0)
			if got != tt.want || err != io.EOF {
				t.Errorf("%s, %s: got\n%swant\n%s(%v)", tt.name, name, got, tt.want, err)
			}
		}
	}
}

// An event is there as soon as its blank line is: the reader must not wait for
// the LF of a CRLF that may never come.
func TestNextDoesNotWaitForMore(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{"data: a\n\n", "data: a\r\r", "data: a\r\n\r"} {
		in := io.MultiReader(strings.NewReader(stream), iotest.ErrReader(errors.New("read too far")))
		ev, err := sse.NewReader(in, 0).Next()
		if err != nil || string(ev.Data) != "a" {
			t.Errorf("%q: got %q, %v", stream, ev.Data, err)
		}
	}
}

func TestEventAboveTheLimitIsSkipped(t *testing.T) {
	t.Parallel()
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, tt := range []struct {
		name       string
		stream     string
		ok         bool
		head, tail string // of the data, if it is too long
	}{
		{"data of the limit", "data: " + x(1000) + "\n\n", true, "", ""},
		{"data above the limit", "id: 7\ndata:a" + x(1000) + "\n\n", false, "ax", "xx"},
		{"data that ends otherwise", "data: " + x(3000) + "}\r\n\r\n", false, "xx", "x}"},
		{"lines of the limit", "data: " + x(499) + "\ndata: " + x(500) + "\n\n", true, "", ""},
		{"lines above the limit", "data: a" + x(499) + "\ndata: " + x(500) + "}\n\n", false, "ax", "x}"},
		{"a short line and a long one", "data: a\ndata: " + x(1100) + "\ndata: }\n\n", false, "ax", "\n}"},
		{"empty lines above the limit", strings.Repeat("data\n", 1002) + "\n", false, "\n", "\n"},
		{"comment of the limit", ":" + x(1005) + "\ndata: a\n\n", true, "", ""},
		{"comment above the limit", ":" + x(1006) + "\ndata: a\n\n", false, ":x", "\na"},
		{"many events", strings.Repeat("data: "+x(900)+"\n\n", 10), true, "", ""},
		{"many comments", strings.Repeat(": "+x(900)+"\n", 10) + "data: a\n\n", true, "", ""},
	} {
		r := sse.NewReader(strings.NewReader(tt.stream+"event: e\ndata: next\n\n"), 1000)
		_, err := r.Next()
		long, tooLong := errors.AsType[*sse.OversizedError](err)
		switch {
		case tt.ok != (err == nil) || tt.ok == tooLong:
			t.Errorf("%s: got %v", tt.name, err)
		case tooLong && (!bytes.HasPrefix(long.Head, []byte(tt.head)) || !bytes.HasSuffix(long.Tail, []byte(tt.tail))):
			t.Errorf("%s: got %.5q and %.5q, want %q and %q", tt.name, long.Head, long.Tail, tt.head, tt.tail)
		case tooLong && strings.HasPrefix(tt.stream, "id: 7") && long.ID != "7":
			t.Errorf("%s: got id %q, want 7", tt.name, long.ID)
		}
		if ev, err := r.Next(); !tt.ok && (err != nil || ev.Name != "e" || string(ev.Data) != "next") {
			t.Errorf("%s: the second Next returned %+v, %v", tt.name, ev, err)
		}
	}
}

func TestSkippingHasALimit(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]string{
		"line without an end":  "data: " + strings.Repeat("x", 6000),
		"event without an end": strings.Repeat("data: "+strings.Repeat("x", 500)+"\n", 10),
	} {
		r := sse.NewReader(strings.NewReader(stream), 1000)
		for range 2 {
			if _, err := r.Next(); err != sse.ErrTooLong {
				t.Errorf("%s: got %v, want %v", name, err, sse.ErrTooLong)
			}
		}
	}
}

func TestDefaultLimitIsFourMebibytes(t *testing.T) {
	t.Parallel()
	x := strings.Repeat("x", sse.DefaultLimit)
	if ev, err := sse.NewReader(strings.NewReader("data: "+x+"\n\n"), 0).Next(); err != nil || len(ev.Data) != len(x) {
		t.Errorf("got %d bytes, %v", len(ev.Data), err)
	}
	if _, err := sse.NewReader(strings.NewReader("data:x"+x+"\n\n"), 0).Next(); err == nil || err.Error() != sse.ErrTooLong.Error() {
		t.Errorf("got %v, want %v", err, sse.ErrTooLong)
	}
}

func TestErrorOfTheStreamIsReturnedAndStays(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	r := sse.NewReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)), 0)
	if ev, err := r.Next(); err != nil || string(ev.Data) != "a" {
		t.Fatalf("got %q, %v", ev.Data, err)
	}
	for range 2 {
		if _, err := r.Next(); err != broken {
			t.Errorf("got %v, want %v", err, broken)
		}
	}
}

func TestDataBelongsToTheCaller(t *testing.T) {
	t.Parallel()
	r := sse.NewReader(strings.NewReader("data: first\n\ndata: second\n\n"), 0)
	first, _ := r.Next()
	if _, err := r.Next(); err != nil || string(first.Data) != "first" {
		t.Errorf("the first event became %q, %v", first.Data, err)
	}
}

func TestMemoryGrowsOnlyWithTheBytesRead(t *testing.T) {
	// Not parallel: it reads the allocation counter of the process.
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := readAll(strings.NewReader("data: a\n\n"), 1<<30); err != io.EOF {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<10 {
		t.Errorf("a small event under a large limit allocated %d bytes", grown)
	}
}
