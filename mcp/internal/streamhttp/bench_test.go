package streamhttp

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

// discard is a ResponseWriter that costs nothing.
type discard struct{ header http.Header }

func (d discard) Header() http.Header { return d.header }

func (d discard) Write(p []byte) (int, error) { return len(p), nil }

func (d discard) WriteHeader(int) {}

func benchmarkCall(b *testing.B, body string, headers ...string) {
	b.Helper()
	h := NewHandler(newTestCore(plainTools), nil)
	defer h.Close()
	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", "http://localhost/", strings.NewReader(initialize))
	r.Header.Set(httpheader.ContentType, httpheader.TypeJSON)
	h.ServeHTTP(w, r)
	r.Header.Set(httpheader.Accept, httpheader.TypeJSON+", "+httpheader.TypeEventStream)
	r.Header.Set(httpheader.SessionID, w.Header().Get(httpheader.SessionID))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		h.ServeHTTP(discard{make(http.Header)}, r)
	}
}

func BenchmarkStatelessCall(b *testing.B) {
	benchmarkCall(b, modernCall("hello"), modernHeaders("tools/call", "hello")...)
}

func BenchmarkSessionCall(b *testing.B) { benchmarkCall(b, callTool(1, "hello")) }
