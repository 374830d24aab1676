package integration_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

const (
	statelessMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	futureMeta    = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2999-01-01","io.modelcontextprotocol/clientCapabilities":{}}`
	initialize    = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"0"}}}`
)

// The transport's own refusals are tested where it is; these are those that the
// whole server has to agree on.
func TestStatusOverHTTPFollowsTheEra(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-036a", "R-140a", "R-140b", "R-225a", "R-409", "D-15", "E-09")
	s := newFixture(nil)
	url := serveHTTP(t, s, s.HTTPHandler(), mcptest.CheckOnly(mcptest.Server))
	opened, _ := postTo(t, url, initialize, nil)
	session := map[string]string{"Mcp-Session-Id": opened.Header.Get("Mcp-Session-Id")}
	stateless := func(version, method, name string) map[string]string {
		return map[string]string{"Mcp-Protocol-Version": version, "Mcp-Method": method, "Mcp-Name": name}
	}
	for _, tt := range []struct {
		name, body string
		header     map[string]string
		status     int
		want       []string // in the body; nil is an empty body
	}{
		{"method", `{"jsonrpc":"2.0","id":1,"method":"no/such","params":{` + statelessMeta + `}}`, stateless("2026-07-28", "no/such", ""), 404, []string{`"id":1`, "-32601"}},
		{"method in a session", `{"jsonrpc":"2.0","id":1,"method":"no/such"}`, session, 200, []string{`"id":1`, "-32601"}},
		{"resource", `{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"a:b",` + statelessMeta + `}}`, stateless("2026-07-28", "resources/read", "a:b"), 200, []string{"-32602", `"uri":"a:b"`}},
		{"resource in a session", `{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"a:b"}}`, session, 200, []string{"-32002", `"uri":"a:b"`}},
		{"tool", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"x",` + statelessMeta + `}}`, stateless("2026-07-28", "tools/call", "x"), 200, []string{"-32602"}},
		{"tool that fails", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"fail",` + statelessMeta + `}}`, stateless("2026-07-28", "tools/call", "fail"), 200, []string{`"isError":true`}},
		{"version", `{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{` + futureMeta + `}}`, stateless("2999-01-01", "tools/list", ""), 400, []string{"-32022", `"supported":["2026-07-28",`, `"requested":"2999-01-01"`}},
		{"version and headers", `{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{` + futureMeta + `}}`, stateless("2999-01-01", "tools/call", ""), 400, []string{"-32020"}},
		{"metadata", `{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, stateless("2026-07-28", "tools/list", ""), 400, []string{"-32602", `"id":5`}},
		{"request without an id", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"touch",` + statelessMeta + `}}`, stateless("2026-07-28", "tools/call", "touch"), 400, []string{"-32600"}},
		{"request without an id in a session", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"touch"}}`, session, 400, []string{"-32600"}},
		{"notification", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,` + statelessMeta + `}}`, stateless("2026-07-28", "notifications/cancelled", ""), 202, nil},
		{"notification in a session", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, session, 202, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := postTo(t, url, tt.body, tt.header)
			if resp.StatusCode != tt.status || tt.want == nil && body != "" {
				t.Fatalf("got status %d, body %s, want %d", resp.StatusCode, body, tt.status)
			}
			for _, want := range tt.want {
				if !strings.Contains(body, want) {
					t.Errorf("got body %s, want %s in it", body, want)
				}
			}
		})
	}
	_, untouched := postTo(t, url, `{"jsonrpc":"2.0","id":6,"method":"resources/read","params":{"uri":"note://counter"}}`, session)
	if !strings.Contains(untouched, `"text":"0"`) {
		t.Errorf("got %s, want the counter as it was: a request without an id has run", untouched)
	}
}

// postTo sends one message and returns the whole answer.
func postTo(t *testing.T, url, body string, header map[string]string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range header {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}
