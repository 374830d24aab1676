package streamhttp

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

func TestMethodsThatAreNotServedAre405WithAllow(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-156a", "D-03", "D-04")
	both := serveTest(t, newTestCore(plainTools), nil)
	modern := serveTest(t, newTestCore(plainTools, mcp.V20260728), nil)
	for _, tt := range []struct {
		name   string
		server *testServer
		method string
		allow  string
	}{
		{"PUT", both, "PUT", "GET, POST, DELETE"},
		{"HEAD", both, "HEAD", "GET, POST, DELETE"},
		{"OPTIONS", both, "OPTIONS", "GET, POST, DELETE"},
		{"GET without sessions", modern, "GET", "POST"},
		{"DELETE without sessions", modern, "DELETE", "POST"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := tt.server.do(tt.method, "", httpheader.Accept, "text/event-stream")
			if a.status != http.StatusMethodNotAllowed || a.header.Get(httpheader.Allow) != tt.allow {
				t.Errorf("got status %d, allow %q, want 405, %q", a.status, a.header.Get(httpheader.Allow), tt.allow)
			}
		})
	}
}

func TestBrowserGetsAnExplanation(t *testing.T) {
	t.Parallel()
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for name, tt := range map[string]struct {
		core   *testCore
		status int
	}{
		"both eras":   {newTestCore(nil), http.StatusNotAcceptable},
		"modern only": {newTestCore(nil, mcp.V20260728), http.StatusMethodNotAllowed},
	} {
		a := serveTest(t, tt.core, nil).do("GET", "", httpheader.Accept, browser)
		if a.status != tt.status || !strings.HasPrefix(a.header.Get(httpheader.ContentType), "text/plain") || !strings.Contains(a.body, "Model Context Protocol") {
			t.Errorf("%s: got status %d, type %q, body %q, want %d and a sentence", name, a.status, a.header.Get(httpheader.ContentType), a.body, tt.status)
		}
	}
}

func TestRefusalsOfPOST(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-102b", "R-119", "R-124", "R-131", "D-05", "D-06")
	s := serveTest(t, newTestCore(plainTools), nil)
	id := s.open(initialize)
	for _, tt := range []struct {
		name   string
		body   string
		header []string
		status int
		want   string // in the body
	}{
		{"text", initialize, []string{httpheader.ContentType, "", httpheader.ContentType, "text/plain"}, 415, "application/json"},
		{"compressed", initialize, []string{httpheader.ContentEncoding, "gzip"}, 415, "content encoding"},
		{"accepts no JSON", initialize, []string{httpheader.Accept, "", httpheader.Accept, "text/event-stream"}, 406, "application/json"},
		{"no JSON", `{`, nil, 400, "-32700"},
		{"empty", ``, nil, 400, "-32700"},
		{"no message", `{"jsonrpc":"2.0","id":4,"Method":"ping"}`, nil, 400, `"id":4`},
		{"malformed response", `{"jsonrpc":"2.0","id":4,"result":1,"error":1}`, nil, 400, `"error":{"code":-32600`},
		{"response without a session", `{"jsonrpc":"2.0","id":4,"result":{}}`, nil, 400, "has sent no request"},
		{"initialized without a session in a revision that is not served", initialized, []string{httpheader.ProtocolVersion, "1999-01-01"}, 400, "protocol version"},
		{"two sessions", ping, []string{httpheader.SessionID, id, httpheader.SessionID, id}, 400, "found 2"},
		{"unknown session", ping, []string{httpheader.SessionID, "x"}, 404, "initialize"},
		{"unknown version", ping, []string{httpheader.SessionID, id, httpheader.ProtocolVersion, "1999-01-01"}, 400, "protocol version"},
		{"header of another method", ping, []string{httpheader.SessionID, id, httpheader.Method, "tools/call"}, 400, "-32020"},
		{"notification with an unknown version", initialized, []string{httpheader.SessionID, id, httpheader.ProtocolVersion, "1999-01-01"}, 400, "protocol version"},
		{"batch without a session", "[" + ping + "]", nil, 400, "session"},
		{"batch in a revision without", "[" + ping + "]", []string{httpheader.SessionID, id}, 400, "batch"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := s.post(tt.body, tt.header...)
			if a.status != tt.status || !strings.Contains(a.body, tt.want) {
				t.Errorf("got status %d, body %s, want %d and %q", a.status, a.body, tt.status, tt.want)
			}
			if a.header.Get(httpheader.ContentType) != httpheader.TypeJSON {
				t.Errorf("got content type %q, want JSON", a.header.Get(httpheader.ContentType))
			}
		})
	}
	if strings.Contains(s.post(`{"jsonrpc":"2.0","id":4,"result":1,"error":1}`).body, `"id"`) {
		t.Error("the answer to a malformed response carries an id, want none: it is ours")
	}
	if _, _, requests := s.core.counts(); requests > 3 {
		t.Errorf("%d requests reached the core, want the initialize and the two whose headers it checks", requests)
	}
}

// S-049.
func TestRefusalsDiscloseNothingAboutTheServer(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	s := serveTest(t, newTestCore(plainTools), nil)
	secret := s.open(initialize)
	for name, a := range map[string]answer{
		"host":    s.post(initialize, "Host", "evil.example"),
		"origin":  s.post(initialize, "Origin", "https://evil.example/"+strings.Repeat("x", 10_000)),
		"session": s.post(ping, httpheader.SessionID, "x"),
		"parse":   s.post(`{"a":` + strings.Repeat("[", 1000)),
		"accept":  s.post(initialize, httpheader.Accept, "", httpheader.Accept, "text/html"),
	} {
		if a.status < 400 {
			t.Errorf("%s: got status %d, want a refusal", name, a.status)
		}
		for _, leak := range []string{secret, ".go:", "goroutine", s.Listener.Addr().String(), here, "streamhttp"} {
			if strings.Contains(a.body, leak) {
				t.Errorf("%s: the body tells %q: %s", name, leak, a.body)
			}
		}
		if len(a.body) > 1024 {
			t.Errorf("%s: got a body of %d bytes, want at most 1 KiB", name, len(a.body))
		}
	}
}

// The dual-era trap: era before method, and before sessions.
func TestEraIsDetectedForEachRequest(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-036a", "R-064a", "R-064b", "R-140b", "R-156b", "R-289", "R-408", "B-01", "B-02", "G-m")
	s := serveTest(t, newTestCore(plainTools), nil)
	id := s.open(initialize)
	for _, method := range []string{"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "unknown/method"} {
		body := `{"jsonrpc":"2.0","id":"q","method":"` + method + `","params":{` + modernMeta + `}}`
		for _, session := range []string{"", id, "unknown"} {
			headers := append(modernHeaders(method, ""), httpheader.SessionID, session)
			a := s.post(body, headers...)
			if a.status != http.StatusNotFound || !strings.Contains(a.body, "-32601") || !strings.Contains(a.body, `"id":"q"`) {
				t.Errorf("%s with _meta, session %q: got status %d, body %s, want 404 and -32601", method, session, a.status, a.body)
			}
			if a.header.Get(httpheader.SessionID) != "" {
				t.Errorf("%s with _meta, session %q: got a session, want none", method, session)
			}
		}
	}
	if a := s.post(ping, httpheader.SessionID, id); a.status != 200 || !strings.Contains(a.body, `"result"`) {
		t.Errorf("ping in the session: got status %d, body %s, want 200", a.status, a.body)
	}
	a := s.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, httpheader.ProtocolVersion, "2026-07-28", httpheader.SessionID, id)
	if a.status != 200 || a.body != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Errorf("ping with the version header and without _meta: got status %d, body %s, want 200 and an empty result", a.status, a.body)
	}
	a = s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, httpheader.ProtocolVersion, "2026-07-28", httpheader.SessionID, id)
	if a.status != 400 || !strings.Contains(a.body, "-32602") {
		t.Errorf("version header without _meta: got status %d, body %s, want 400 and -32602", a.status, a.body)
	}
	if a := s.post(modernCall("hello"), modernHeaders("tools/call", "hello")...); a.status != 200 || !strings.Contains(a.body, "hello") {
		t.Errorf("stateless call beside the session: got status %d, body %s, want 200", a.status, a.body)
	}
}

func TestModernOnlyServerNamesItsVersionsToInitialize(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-066", "R-156b")
	s := serveTest(t, newTestCore(plainTools, mcp.V20260728), nil)
	a := s.post(initialize)
	if !strings.Contains(a.body, `"supported":["2026-07-28"]`) || a.header.Get(httpheader.SessionID) != "" {
		t.Errorf("got body %s, session %q, want the versions and no session", a.body, a.header.Get(httpheader.SessionID))
	}
	if a := s.post("[" + ping + "]"); a.status != 400 || !strings.Contains(a.body, "batch") {
		t.Errorf("batch: got status %d, body %s, want 400", a.status, a.body)
	}
}

// S-032: standard headers are held against the body.
func TestStandardHeadersAgreeWithTheBody(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-139", "R-141b", "R-142a", "R-142c", "R-143a", "R-143b", "R-145", "B-03", "B-06", "G-p")
	s := serveTest(t, newTestCore(plainTools), nil)
	for _, tt := range []struct {
		name   string
		header []string
		status int
	}{
		{"right", modernHeaders("tools/call", "hello"), 200},
		{"name in Base64", modernHeaders("tools/call", "=?base64?aGVsbG8=?="), 200},
		{"blanks around the name", modernHeaders("tools/call", "  hello  "), 200},
		{"case of header names", []string{"MCP-PROTOCOL-VERSION", "2026-07-28", "mcp-method", "tools/call", "mCP-nAME", "hello"}, 200},
		{"version missing", modernHeaders("tools/call", "hello")[2:], 400},
		{"version differs", []string{httpheader.ProtocolVersion, "2025-11-25", httpheader.Method, "tools/call", httpheader.Name, "hello"}, 400},
		{"method missing", []string{httpheader.ProtocolVersion, "2026-07-28", httpheader.Name, "hello"}, 400},
		{"method in capitals", modernHeaders("TOOLS/CALL", "hello"), 400},
		{"name missing", modernHeaders("tools/call", ""), 400},
		{"name differs", modernHeaders("tools/call", "talk"), 400},
		{"name twice", append(modernHeaders("tools/call", "hello"), httpheader.Name, "hello"), 400},
		{"version twice", append(modernHeaders("tools/call", "hello"), httpheader.ProtocolVersion, "2026-07-28"), 400},
		{"names joined", modernHeaders("tools/call", "hello, hello"), 400},
		{"bad Base64", modernHeaders("tools/call", "=?base64?aGVsbG8?="), 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := s.post(modernCall("hello"), tt.header...)
			if a.status != tt.status {
				t.Fatalf("got status %d, body %s, want %d", a.status, a.body, tt.status)
			}
			if tt.status == 400 && (!strings.Contains(a.body, "-32020") || !strings.Contains(a.body, `"id":7`)) {
				t.Errorf("got body %s, want -32020 and the id", a.body)
			}
		})
	}
}
