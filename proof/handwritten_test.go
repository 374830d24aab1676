package proof

import "strings"

// A handWrittenFrame is a hand-written message.
type handWrittenFrame struct {
	title string
	frame string
	// times repeats more after the frame, and end follows. Large frames are made when
	// they are sent, because this program is also the server.
	times     int
	more, end string
}

func (w handWrittenFrame) bytes() []byte {
	return []byte(w.frame + strings.Repeat(w.more, w.times) + w.end)
}

func (w handWrittenFrame) size() int { return len(w.frame) + len(w.more)*w.times }

// handWritten are sent over every transport.
var handWritten = []handWrittenFrame{
	{title: "empty"},
	{title: "blank", frame: "  \t "},
	{title: "null", frame: "null"},
	{title: "true", frame: "true"},
	{title: "number", frame: "7"},
	{title: "text", frame: `"initialize"`},
	{title: "empty-object", frame: "{}"},
	{title: "empty-batch", frame: "[]"},
	{title: "batch-of-nulls", frame: "[null,null]"},
	{title: "brackets-without-end", times: 1_000_000, more: "["},
	{title: "text-without-end", frame: `"`, times: 1_000_000, more: "a"},
	{title: "request-of-HTTP", frame: "GET /mcp HTTP/1.1"},
	{title: "frame-of-LSP", frame: "Content-Length: 2"},
	{title: "event-of-SSE", frame: `data: {"jsonrpc":"2.0","id":1,"method":"ping"}`},
	{title: "record-separator", frame: "\x1e" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
	{title: "HTML", frame: "<!doctype html><title>502 Bad Gateway</title>"},
	{title: "XML", frame: `<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "b">]><a>&b;</a>`},
	{title: "cancels-what-nobody-asked", frame: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nobody","reason":"why not"}}`},
	{title: "cancels-without-saying-what", frame: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}`},
	{title: "progress-of-nothing", frame: `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1e308}}`},
	{title: "result-for-nobody", frame: `{"jsonrpc":"2.0","id":"nobody","result":{}}`},
	{title: "error-for-nobody", frame: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`},
	{title: "notification-that-is-unknown", frame: `{"jsonrpc":"2.0","method":"notifications/nonsense","params":{"a":[{}]}}`},
	{title: "text-of-5-MiB", frame: `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`, times: 5 << 20, more: "x", end: `"}}`},
	{title: "text-of-17-MiB", frame: `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`, times: 17 << 20, more: "x", end: `"}}`},
	{title: "line-of-70-MiB", times: 70 << 20, more: "x"},
}
