package sse_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/sse"
)

func BenchmarkAppendEvent(b *testing.B) {
	ev := sse.Event{ID: "s1-17", Name: "message", Data: []byte(strings.Repeat("x", 4096))}
	var buffer []byte
	b.SetBytes(int64(len(ev.Data)))
	b.ReportAllocs()
	for b.Loop() {
		buffer = sse.AppendEvent(buffer[:0], ev)
	}
}

func BenchmarkNext(b *testing.B) {
	stream := sse.AppendEvent(nil, sse.Event{ID: "s1-17", Data: []byte(strings.Repeat("x", 4096))})
	r := sse.NewReader(&endless{text: stream}, 0)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

// endless repeats a text for ever.
type endless struct {
	text []byte
	rest bytes.Reader
}

func (e *endless) Read(p []byte) (int, error) {
	if e.rest.Len() == 0 {
		e.rest.Reset(e.text)
	}
	return e.rest.Read(p)
}
