//go:build !race

// The race detector makes sync.Pool forget at random, so that there is nothing
// to count.

package mcpserver_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

type pair struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

type total struct {
	Sum float64 `json:"sum"`
}

// A failure here means that a plain call over HTTP, typed and validated both ways,
// does more than it did: the profile of allocations says what.
func TestStatelessCallAllocatesLittle(t *testing.T) {
	s := mcpserver.New("s", "1", nil)
	s.Tool("add", "Adds two numbers.", func(_ context.Context, in pair) (total, error) { return total{in.A + in.B}, nil })
	h := s.HTTPHandler()
	body := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", nil)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "add",
	} {
		r.Header.Set(name, value)
	}
	r.ContentLength = int64(len(body))
	w := httptest.NewRecorder()
	allocs := testing.AllocsPerRun(200, func() {
		r.Body = io.NopCloser(bytes.NewReader(body))
		w.Body.Reset()
		clear(w.Header())
		h.ServeHTTP(w, r)
	})
	if !bytes.Contains(w.Body.Bytes(), []byte(`"structuredContent":{"sum":3}`)) {
		t.Fatalf("got %s", w.Body)
	}
	const ceiling = 52 // of which some ten are the recorder's
	if allocs > ceiling {
		t.Errorf("got %v allocations, want at most %v", allocs, ceiling)
	}
}
