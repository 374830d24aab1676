package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// served is a server over HTTP, and the headers that it has seen.
type served struct {
	*httptest.Server
	mu      sync.Mutex
	headers []http.Header
}

// serveHTTP serves Streamable HTTP at /mcp and HTTP+SSE at /sse.
func serveHTTP(t *testing.T, srv *mcpserver.Server) *served {
	t.Helper()
	s := new(served)
	mux := http.NewServeMux()
	mux.Handle("/mcp", srv.HTTPHandler())
	mux.Handle("/sse", srv.EventStreamHandler())
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.headers = append(s.headers, r.Header.Clone())
		s.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		_ = srv.Shutdown(context.Background())
		s.Close()
	})
	return s
}

// Upstreams over every transport are brought to clients over every transport.
func TestEveryTransportIsRelayedToEveryOther(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-406a", "R-406b")
	type cell struct {
		path     string
		revision mcp.Revision
	}
	ways := []cell{{"/sse", mcp.V20241105}, {"/mcp", mcp.V20250326}, {"/mcp", mcp.V20251125}, {"/mcp", mcp.V20260728}}
	target := func(base string, c cell) mcpclient.Target {
		if c.path == "/sse" {
			return mcpclient.EventStream(base + c.path)
		}
		return mcpclient.URL(base + c.path)
	}
	for _, up := range ways {
		var upstreams []host.Upstream
		web := serveHTTP(t, recordingServer(&mcpserver.Options{Revisions: []mcp.Revision{up.revision}, Logger: quiet}))
		upstreams = append(upstreams, host.Upstream{Key: "d", Target: target(web.URL, up)})
		g := start(t, upstreams...)
		front := serveHTTP(t, g.Server())
		for _, down := range ways {
			t.Run(fmt.Sprintf("%s%s behind for %s%s", up.revision, up.path, down.revision, down.path), func(t *testing.T) {
				c, err := mcpclient.Connect(t.Context(), target(front.URL, down), &mcpclient.Options{Revisions: []mcp.Revision{down.revision}, Logger: quiet})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close() })
				w := &wordClient{Client: c, name: "x"}
				w.follow(t)
				w.write(t)
				for deadline := time.Now().Add(testTimeout); ; time.Sleep(5 * time.Millisecond) {
					w.mu.Lock()
					told := len(w.progress)
					w.mu.Unlock()
					_, updates := w.heard()
					if told == 1 && updates >= 1 {
						break
					}
					if time.Now().After(deadline) {
						t.Fatalf("got %d of progress and %d updates, want one of each", told, updates)
					}
				}
			})
		}
	}
}

// What a client authenticates itself with is between it and the host.
func TestCredentialsOfClientsAreNotForwarded(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-407")
	web := serveHTTP(t, recordingServer(&mcpserver.Options{Logger: quiet}))
	g := start(t, host.Upstream{Key: "d", Target: mcpclient.URL(web.URL + "/mcp"), Header: http.Header{"Authorization": {"Bearer of-the-host"}}})
	front := serveHTTP(t, g.Server())
	c, err := mcpclient.Connect(t.Context(), mcpclient.URL(front.URL+"/mcp"), &mcpclient.Options{
		HTTP:   mcpclient.HTTPOptions{Header: http.Header{"Authorization": {"Bearer of-the-client"}, "Cookie": {"of-the-client"}, "X-Api-Key": {"of-the-client"}}},
		Logger: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	(&wordClient{Client: c, name: "x"}).write(t)
	web.mu.Lock()
	defer web.mu.Unlock()
	if len(web.headers) == 0 {
		t.Fatal("the upstream has seen nothing")
	}
	for _, h := range web.headers {
		if h.Get("Authorization") != "Bearer of-the-host" || h.Get("Cookie") != "" || h.Get("X-Api-Key") != "" {
			t.Errorf("got %v, want the host's own credentials alone", h)
		}
	}
}

// Which era a message is of is decided before its method, and an unknown method
// of a session is not a session that is unknown.
func TestEraIsDecidedBeforeTheMethod(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-408", "R-409")
	g := start(t)
	front := serveHTTP(t, g.Server())
	post := func(header http.Header, body string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = header.Clone()
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response, string(text)
	}
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}%s}}`
	response, body := post(http.Header{}, fmt.Sprintf(initialize, ""))
	session := response.Header.Get("Mcp-Session-Id")
	if response.StatusCode != http.StatusOK || session == "" {
		t.Fatalf("got %d, %s, want a session", response.StatusCode, body)
	}
	known := http.Header{"Mcp-Session-Id": {session}, "Mcp-Protocol-Version": {"2025-11-25"}}
	if response, body := post(known, `{"jsonrpc":"2.0","id":2,"method":"no/such"}`); response.StatusCode != http.StatusOK || !strings.Contains(body, "-32601") {
		t.Errorf("got %d, %s, want 200 and -32601 in a session", response.StatusCode, body)
	}
	modern := http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"initialize"}}
	meta := `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	if response, body := post(modern, fmt.Sprintf(initialize, meta)); response.StatusCode != http.StatusNotFound || !strings.Contains(body, "-32601") {
		t.Errorf("got %d, %s, want 404 and -32601 in the stateless era", response.StatusCode, body)
	}
}

// What an upstream says of the message that carried a request is between it and
// the host: the client has sent another one.
func TestTransportErrorsAreNotPassedOn(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "E-04", "E-06")
	inner := recordingServer(&mcpserver.Options{Revisions: []mcp.Revision{mcp.V20260728}, Logger: quiet}).HTTPHandler()
	for _, test := range []struct {
		claimed string
		code    mcp.Code
	}{
		{`{"code":-32020,"message":"Mcp-Method differs"}`, mcp.CodeHeaderMismatch},
		{`{"code":-32022,"message":"not served","data":{"supported":["2026-07-28"],"requested":"2026-07-28"}}`, mcp.CodeUnsupportedVersion},
	} {
		var refused atomic.Int32
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Method") != mcp.MethodToolsCall {
				inner.ServeHTTP(w, r)
				return
			}
			refused.Add(1)
			var request struct {
				ID jsontext.Value `json:"id"`
			}
			_ = json.UnmarshalRead(r.Body, &request)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":%s}`, request.ID, test.claimed)
		}))
		t.Cleanup(web.Close)
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.URL(web.URL)})
		for _, v := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
			c := mcptest.Connect(t, g.Server(), &mcpclient.Options{Revisions: []mcp.Revision{v}, Logger: quiet})
			result, err := c.CallTool(t.Context(), "d__write", map[string]string{"word": "x"})
			if refused.Swap(0) == 0 {
				t.Errorf("%s: the upstream was not called", v)
			}
			if code := mcp.CodeOf(err); code == test.code || err == nil && !result.IsError {
				t.Errorf("%s: got %+v, %v, want a failure without the code %q", v, result, err, test.code)
			}
		}
	}
}
