package sse_test

import (
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/sse"
)

func TestAppendEvent(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-091")
	for _, tt := range []struct {
		name  string
		event sse.Event
		want  string
	}{
		{"data", sse.Event{Data: []byte(`{"a":1}`)}, "data: {\"a\":1}\n\n"},
		{"all fields", sse.Event{ID: "7", Name: "message", Retry: 3 * time.Second, Data: []byte("x")}, "event: message\nid: 7\nretry: 3000\ndata: x\n\n"},
		{"empty data", sse.Event{ID: "7", Data: []byte{}}, "id: 7\ndata: \n\n"},
		{"no data", sse.Event{ID: "7"}, "id: 7\n\n"},
		{"part of a millisecond", sse.Event{Retry: 1}, "retry: 1\n\n"},
		{"negative retry", sse.Event{Retry: -1, Data: []byte("x")}, "data: x\n\n"},

		{"LF", sse.Event{Data: []byte("a\nb")}, "data: a\ndata: b\n\n"},
		{"CR", sse.Event{Data: []byte("a\rb")}, "data: a\ndata: b\n\n"},
		{"CRLF", sse.Event{Data: []byte("a\r\nb")}, "data: a\ndata: b\n\n"},
		{"CR CRLF", sse.Event{Data: []byte("a\r\r\nb\r")}, "data: a\ndata: \ndata: b\ndata: \n\n"},
		{"LFCR", sse.Event{Data: []byte("a\n\rb")}, "data: a\ndata: \ndata: b\n\n"},
		{"trailing line break", sse.Event{Data: []byte("a\n")}, "data: a\ndata: \n\n"},
		{"leading space", sse.Event{Data: []byte(" a")}, "data:  a\n\n"},
		{"injected event", sse.Event{Data: []byte("a\n\nevent: endpoint\rdata: /evil")}, "data: a\ndata: \ndata: event: endpoint\ndata: data: /evil\n\n"},

		{"id with LF", sse.Event{ID: "1\ndata: evil", Data: []byte("x")}, "data: x\n\n"},
		{"id with CR", sse.Event{ID: "1\r", Data: []byte("x")}, "data: x\n\n"},
		{"id with NUL", sse.Event{ID: "1\x00", Data: []byte("x")}, "data: x\n\n"},
		{"name with LF", sse.Event{Name: "a\n\n", Data: []byte("x")}, "data: x\n\n"},
		{"name with CR", sse.Event{Name: "a\rb", Data: []byte("x")}, "data: x\n\n"},
	} {
		if got := string(sse.AppendEvent([]byte("#"), tt.event)); got != "#"+tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, "#"+tt.want)
		}
	}
}

func TestAppendComment(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                  ": \n\n",
		"keep-alive":        ": keep-alive\n\n",
		"a\r\n\ndata: evil": ": a\n: \n: data: evil\n\n",
	} {
		if got := string(sse.AppendComment(nil, text)); got != want {
			t.Errorf("AppendComment(%q) = %q, want %q", text, got, want)
		}
	}
}
