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
	"runtime"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

type pair struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

type total struct {
	Sum float64 `json:"sum"`
}

// sink takes an answer and allocates nothing itself.
type sink struct {
	header http.Header
	body   bytes.Buffer
}

func (s *sink) Header() http.Header              { return s.header }
func (s *sink) WriteHeader(int)                  {}
func (s *sink) Write(p []byte) (int, error)      { return s.body.Write(p) }
func (s *sink) SetReadDeadline(time.Time) error  { return nil }
func (s *sink) SetWriteDeadline(time.Time) error { return nil }

// cost returns the allocations and the bytes of one run.
func cost(run func()) (allocs, size float64) {
	const runs = 500
	var before, after runtime.MemStats
	allocs = testing.AllocsPerRun(runs, run)
	runtime.ReadMemStats(&before)
	for range runs {
		run()
	}
	runtime.ReadMemStats(&after)
	return allocs, float64(after.TotalAlloc-before.TotalAlloc) / runs
}

// A failure here means that a plain call over HTTP, typed and validated both ways,
// does more than it did: the profile of allocations says what.
func TestStatelessCallAllocatesLittle(t *testing.T) {
	for _, test := range []struct {
		name         string
		option       []mcpserver.ToolOption
		allocs, size float64 // ceilings
	}{
		{"plain", nil, 25, 3008},
		{"with a timeout, on a goroutine of its own", []mcpserver.ToolOption{mcpserver.Timeout(time.Minute)}, 50, 5056},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := mcpserver.New("s", "1", nil)
			s.Tool("add", "Adds two numbers.", func(_ context.Context, in pair) (total, error) { return total{in.A + in.B}, nil }, test.option...)
			h := s.HTTPHandler()
			text := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2},"_meta":{` +
				`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
			r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", nil)
			for name, value := range map[string]string{
				"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
				"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "add",
			} {
				r.Header.Set(name, value)
			}
			body := bytes.NewReader(text)
			r.ContentLength, r.Body = int64(len(text)), io.NopCloser(body)
			w := &sink{header: http.Header{}}
			allocs, size := cost(func() {
				body.Reset(text)
				w.body.Reset()
				clear(w.header)
				h.ServeHTTP(w, r)
			})
			if !bytes.Contains(w.body.Bytes(), []byte(`"structuredContent":{"sum":3}`)) {
				t.Fatalf("got %s", w.body.Bytes())
			}
			if allocs > test.allocs || size > test.size {
				t.Errorf("got %v allocations and %v bytes, want at most %v and %v", allocs, size, test.allocs, test.size)
			}
		})
	}
}
