//go:build !race

// The race detector makes sync.Pool forget at random, so that there is nothing
// to count.

package gateway_test

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// stateless returns what sends one request of the stateless era to a handler over and
// over, and what was answered last.
func stateless(h http.Handler, method, name, params string) (send func(), answer *bytes.Buffer) {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", nil)
	for header, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
	} {
		if value != "" {
			r.Header.Set(header, value)
		}
	}
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, method, params)
	r.ContentLength = int64(len(body))
	w := httptest.NewRecorder()
	return func() {
		r.Body = io.NopCloser(bytes.NewReader(body))
		w.Body.Reset()
		clear(w.Header())
		h.ServeHTTP(w, r)
	}, w.Body
}

// several returns upstreams that have so many tools each.
func several(upstreams, tools int) (all []host.Upstream) {
	for i := range upstreams {
		srv := newServer(fmt.Sprint(i))
		for j := range tools {
			srv.Tool(fmt.Sprintf("tool%d", j), "A tool", greet)
		}
		all = append(all, upstream(fmt.Sprintf("server%d", i), srv))
	}
	return all
}

// A failure here means that lists of the tools of all upstreams are not copied from
// what was encoded once: they would allocate something for each tool.
func TestMergedListIsEncodedOnce(t *testing.T) {
	allocations := func(tools int) float64 {
		list, answer := stateless(start(t, several(6, tools)...).Server().HTTPHandler(), "tools/list", "", "")
		allocs := testing.AllocsPerRun(100, list)
		if got := bytes.Count(answer.Bytes(), []byte(`"name":"server`)); got != 6*tools {
			t.Fatalf("got %d tools, want %d: %.500s", got, 6*tools, answer)
		}
		return allocs
	}
	if few, many := allocations(1), allocations(50); many > few+10 { // for larger buffers
		t.Errorf("got %v allocations for 300 tools and %v for 6, want about as many", many, few)
	}
}

// A failure here means that a plain call through the gateway, over HTTP on both sides,
// does more than it did: the profile of allocations says what.
func TestRelayedCallAllocatesLittle(t *testing.T) {
	call, answer := stateless(relay(t), "tools/call", "behind__greet", `"name":"behind__greet","arguments":{"name":"Ada"},`)
	allocs := testing.AllocsPerRun(200, call)
	if !bytes.Contains(answer.Bytes(), []byte(`"text":"Hello Ada"`)) {
		t.Fatalf("got %s", answer)
	}
	const ceiling = 215 // of which the server behind makes some fifty
	if allocs > ceiling {
		t.Errorf("got %v allocations, want at most %v", allocs, ceiling)
	}
}

// BenchmarkRelay is a call through the gateway to a server over HTTP that costs next to
// nothing. BenchmarkMergedList are lists of 300 tools of six upstreams.
func BenchmarkRelay(b *testing.B) {
	call, _ := stateless(relay(b), "tools/call", "behind__greet", `"name":"behind__greet","arguments":{"name":"Ada"},`)
	b.ReportAllocs()
	for b.Loop() {
		call()
	}
}

func BenchmarkMergedList(b *testing.B) {
	g := start(b, several(6, 50)...)
	list, _ := stateless(g.Server().HTTPHandler(), "tools/list", "", "")
	b.ReportAllocs()
	for b.Loop() {
		list()
	}
}

// relay returns the handler of a gateway with one server behind it over HTTP, whose
// answers are made beforehand.
func relay(t testing.TB) http.Handler {
	results := map[string]string{
		"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","resultType":"complete"}`,
		"tools/list":      `{"tools":[{"name":"greet","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private","resultType":"complete"}`,
		"tools/call":      `{"content":[{"type":"text","text":"Hello Ada"}],"resultType":"complete"}`,
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID jsontext.Value `json:"id"`
		}
		if err := json.UnmarshalRead(r.Body, &m); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, results[r.Header.Get("Mcp-Method")])
	}))
	t.Cleanup(web.Close)
	return start(t, host.Upstream{Key: "behind", Transport: "over HTTP", Target: mcpclient.URL(web.URL)}).Server().HTTPHandler()
}
