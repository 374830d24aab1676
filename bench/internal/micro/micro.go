// Package micro holds the Go benchmarks that every Go SDK runs alike. Their names end
// in /sdk=NAME, so that benchstat -col /sdk puts them side by side.
package micro

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/fondaco/fondaco/mcp"
)

// Text is what is echoed.
const Text = "abcdefghijklmnopqrstuvwxyz012345"

// Servers serve over HTTP, stateless and answering in JSON.
type Servers func(tools int) http.Handler

// A request of the stateless era, and what its answer has to contain.
type request struct {
	name, method, tool, params string
	tools                      int
	want                       string
}

var requests = []request{
	{name: "echo", method: "tools/call", tool: "echo", params: `"name":"echo","arguments":{"text":"` + Text + `"},`, want: Text},
	{name: "add", method: "tools/call", tool: "add", params: `"name":"add","arguments":{"a":3,"b":4},`, want: `{"sum":7}`},
	{name: "big", method: "tools/call", tool: "big", params: `"name":"big","arguments":{},`, want: "quick"},
	{name: "list1000", method: "tools/list", tools: 1000, want: "tool_00999"},
}

func (r request) body() []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1.0.0"},`+
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`, r.method, r.params, mcp.V20260728)
}

func (r request) header() http.Header {
	h := http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {mcp.V20260728.String()}, "Mcp-Method": {r.method},
	}
	if r.tool != "" {
		h["Mcp-Name"] = []string{r.tool}
	}
	return h
}

// Handler measures the servers of an SDK without a network.
func Handler(b *testing.B, sdk string, servers Servers) {
	for _, r := range requests {
		b.Run("call="+r.name+"/sdk="+sdk, func(b *testing.B) { r.handle(b, servers(r.tools)) })
	}
}

func (r request) handle(b *testing.B, h http.Handler) {
	text := r.body()
	body := bytes.NewReader(text)
	closer := io.NopCloser(body)
	req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", nil)
	req.Header, req.ContentLength = r.header(), int64(len(text))
	answer := &recorder{header: make(http.Header)}
	b.ReportAllocs()
	for b.Loop() {
		body.Reset(text)
		req.Body = closer // a handler may have put another one there
		answer.reset()
		h.ServeHTTP(answer, req)
		if !bytes.Contains(answer.body.Bytes(), []byte(r.want)) {
			b.Fatalf("got status %d, %.300s, want %s", answer.status, answer.body.Bytes(), r.want)
		}
	}
}

// Loopback measures the servers of an SDK over one connection of net/http.
func Loopback(b *testing.B, sdk string, servers Servers) {
	for _, r := range requests {
		b.Run("call="+r.name+"/sdk="+sdk, func(b *testing.B) { r.send(b, servers(r.tools)) })
	}
}

func (r request) send(b *testing.B, h http.Handler) {
	s := httptest.NewServer(h)
	defer s.Close()
	text, header := r.body(), r.header()
	var answer bytes.Buffer
	b.ReportAllocs()
	for b.Loop() {
		req, err := http.NewRequest(http.MethodPost, s.URL+"/mcp", bytes.NewReader(text))
		if err != nil {
			b.Fatal(err)
		}
		req.Header = header
		resp, err := s.Client().Do(req)
		if err != nil {
			b.Fatal(err)
		}
		answer.Reset()
		answer.ReadFrom(resp.Body)
		resp.Body.Close()
		if !bytes.Contains(answer.Bytes(), []byte(r.want)) {
			b.Fatalf("got status %d, %.300s, want %s", resp.StatusCode, answer.Bytes(), r.want)
		}
	}
}

// Client measures the client of an SDK: echo returns the text of the answer.
func Client(b *testing.B, sdk string, echo func() (string, error)) {
	b.Run("call=echo/sdk="+sdk, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if got, err := echo(); err != nil || got != Text {
				b.Fatalf("got %q and error %v, want %q", got, err, Text)
			}
		}
	})
}

// recorder keeps one answer and its buffer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) reset() {
	clear(r.header)
	r.status = 0
	r.body.Reset()
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }
func (r *recorder) Flush()                      {}
