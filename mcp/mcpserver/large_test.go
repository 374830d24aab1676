//go:build !race

package mcpserver_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// counter is an http.ResponseWriter that counts.
type counter struct {
	header               http.Header
	status, size, writes int
}

func (c *counter) Header() http.Header              { return c.header }
func (c *counter) WriteHeader(status int)           { c.status = status }
func (c *counter) Write(p []byte) (int, error)      { c.size += len(p); c.writes++; return len(p), nil }
func (c *counter) SetReadDeadline(time.Time) error  { return nil }
func (c *counter) SetWriteDeadline(time.Time) error { return nil }

// call sends a request again and again, and returns the last answer and how many
// bytes were allocated for one.
func call(t *testing.T, h http.Handler, method, name, params string) (w *counter, allocated int) {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, method, params)
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", nil)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
	} {
		r.Header.Set(name, value)
	}
	if name == "" {
		r.Header.Del("Mcp-Name")
	}
	r.ContentLength = int64(len(body))
	const runs = 20
	var before, after runtime.MemStats
	for i := range runs + 1 {
		if i == 1 { // what is made once is there
			runtime.ReadMemStats(&before)
		}
		r.Body = io.NopCloser(strings.NewReader(body))
		w = &counter{header: make(http.Header)}
		h.ServeHTTP(w, r)
	}
	runtime.ReadMemStats(&after)
	return w, int(after.TotalAlloc-before.TotalAlloc) / runs
}

// A failure here means that the bytes of a large message are copied once more
// than they were: the profile of allocations says where.
func TestLargeMessagesAreNotCopiedAgain(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // pools keep what they have
	const size = 100 << 10
	ordinary, escaped := strings.Repeat("x", size), strings.Repeat("line\n", size/5)
	for _, answer := range []mcpserver.ResponseMode{mcpserver.ResponseJSON, mcpserver.ResponseStream} {
		s := mcpserver.New("s", "1", &mcpserver.Options{PageSize: 2000, HTTP: &mcpserver.HTTPOptions{ResponseMode: answer}})
		s.Tool("ordinary", "", func(context.Context, struct{}) (string, error) { return ordinary, nil })
		s.Tool("escaped", "", func(context.Context, struct{}) (string, error) { return escaped, nil })
		s.Tool("echo", "", func(_ context.Context, in struct{ Text string }) (string, error) { return in.Text, nil })
		for i := range 500 {
			s.Tool(fmt.Sprint("tool", i), strings.Repeat("d", 100), func(context.Context, struct{}) (string, error) { return "", nil })
		}
		h := s.HTTPHandler()
		const small = 16 << 10
		for _, c := range []struct {
			name, params  string
			answer        int // at least
			ceiling, most int // bytes allocated, writes
		}{
			{"ordinary", `"name":"ordinary",`, size, small, 1},
			{"escaped", `"name":"escaped",`, size * 6 / 5, small, 1},
			{"", ``, 90_000, small, 3},
			// What the tool gets, and the body: 32 KiB first, and then what was announced.
			{"echo", `"name":"echo","arguments":{"Text":"` + ordinary + `"},`, size, size + 32<<10 + size + small + 16<<10, 1},
		} {
			method := "tools/call"
			if c.name == "" {
				method = "tools/list"
			}
			t.Run(fmt.Sprint(cmp.Or(c.name, "list"), " in form ", answer), func(t *testing.T) {
				w, allocated := call(t, h, method, c.name, c.params)
				if w.status != http.StatusOK || w.size < c.answer {
					t.Fatalf("got status %d with %d bytes", w.status, w.size)
				}
				if announced := w.header.Get("Content-Length"); announced != strconv.Itoa(w.size) {
					t.Errorf("announced %q bytes, sent %d", announced, w.size)
				}
				if allocated > c.ceiling || w.writes > c.most {
					t.Errorf("got %d bytes and %d writes, want at most %d and %d", allocated, w.writes, c.ceiling, c.most)
				}
			})
		}
	}
}
