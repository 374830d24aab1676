package sse_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/sse"
)

var toLF = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// FuzzRoundTrip checks that an event is read as it was written, and that no
// content of its fields makes two events of it.
func FuzzRoundTrip(f *testing.F) {
	f.Add("1", "message", int64(3000), []byte(`{"a":1}`))
	f.Add("", "", int64(0), []byte("a\n\nevent: x\r\ndata: y"))
	f.Add("1\n", "a\x00", int64(-1), []byte(" \r"))
	f.Fuzz(func(t *testing.T, id, name string, retry int64, data []byte) {
		written := sse.Event{ID: id, Name: name, Retry: time.Duration(retry), Data: append([]byte{}, data...)}
		stream := sse.AppendComment(nil, name)
		stream = sse.AppendEvent(stream, written)
		r := sse.NewReader(bytes.NewReader(stream), len(stream)+1)
		got, err := r.Next()
		if err != nil {
			t.Fatalf("%q: %v", stream, err)
		}
		if want := toLF.Replace(string(data)); string(got.Data) != want {
			t.Fatalf("got data %q, want %q", got.Data, want)
		}
		if want := writable(id); got.ID != want {
			t.Fatalf("got id %q, want %q", got.ID, want)
		}
		if want := writable(name); got.Name != want {
			t.Fatalf("got name %q, want %q", got.Name, want)
		}
		if got.Retry < max(written.Retry, 0) || got.Retry-max(written.Retry, 0) >= time.Millisecond && retry < 1<<62 {
			t.Fatalf("got retry %v, want %v", got.Retry, written.Retry)
		}
		if extra, err := r.Next(); err != io.EOF {
			t.Fatalf("%q holds another event %+v, %v", stream, extra, err)
		}
	})
}

func writable(field string) string {
	if strings.ContainsAny(field, "\r\n\x00") {
		return ""
	}
	return field
}

// FuzzReader compares the reader with a plain reading of the standard, and with
// itself when the bytes arrive one by one.
func FuzzReader(f *testing.F) {
	f.Add("data: a\r\rid: 1\n\nretry: 5\ndata\n\n")
	f.Add("\ufeff:c\nevent: x\rdata: a\r\ndata:  b\n\r\n")
	f.Fuzz(func(t *testing.T, stream string) {
		got, err := readAll(strings.NewReader(stream), len(stream)+1)
		if err != io.EOF {
			t.Fatal(err)
		}
		slow, err := readAll(iotest.OneByteReader(strings.NewReader(stream)), len(stream)+1)
		if got != slow || err != io.EOF {
			t.Fatalf("at once\n%sbyte by byte\n%s%v", got, slow, err)
		}
		if want := countPayloads(stream); strings.Count(got, "\n")-strings.Count(got, "|none\n") != want {
			t.Fatalf("got\n%swant %d events with data", got, want)
		}
	})
}

// countPayloads counts the finished blocks that have a data field.
func countPayloads(stream string) int {
	blocks := strings.Split(toLF.Replace(strings.TrimPrefix(stream, "\ufeff")), "\n")
	count, hasData := 0, false
	for _, line := range blocks[:len(blocks)-1] {
		switch {
		case line == "" && hasData:
			count++
			hasData = false
		case line == "data" || strings.HasPrefix(line, "data:"):
			hasData = true
		}
	}
	return count
}
