package mcpserver_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// statusOnly is a ResponseWriter that costs little and keeps the status.
type statusOnly struct {
	header http.Header
	code   int
}

func (s *statusOnly) Header() http.Header { return s.header }

func (s *statusOnly) Write(p []byte) (int, error) { return len(p), nil }

func (s *statusOnly) WriteHeader(code int) { s.code = code }

const benchmarkCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello","arguments":{},` +
	`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

// BenchmarkCall is a plain tools/call of the stateless era, from the HTTP handler
// down.
func BenchmarkCall(b *testing.B) {
	call := benchmarkCalls(b, benchmarkHandler())
	b.ReportAllocs()
	for b.Loop() {
		call()
	}
}

// BenchmarkParallelCalls is the same from many sides at once.
func BenchmarkParallelCalls(b *testing.B) {
	h := benchmarkHandler()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		call := benchmarkCalls(b, h)
		for pb.Next() {
			call()
		}
	})
}

func benchmarkHandler() http.Handler {
	s := mcpserver.New("bench", "1", nil)
	s.Tool("hello", "Hello", func(context.Context, struct{}) (string, error) { return "hello", nil })
	return s.HTTPHandler()
}

// benchmarkCalls returns what calls the tool, on one goroutine.
func benchmarkCalls(b *testing.B, h http.Handler) func() {
	r := httptest.NewRequest("POST", "http://localhost/", nil)
	r.ContentLength = int64(len(benchmarkCall))
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"hello"},
	}
	return func() {
		w := &statusOnly{header: make(http.Header)}
		r.Body = io.NopCloser(strings.NewReader(benchmarkCall))
		if h.ServeHTTP(w, r); w.code != http.StatusOK {
			b.Errorf("got HTTP %d, want 200", w.code)
		}
	}
}
