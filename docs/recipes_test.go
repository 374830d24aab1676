package docs_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func newPublic() *mcpserver.Server {
	return mcpserver.New("hello", "1.0.0", &mcpserver.Options{HTTP: &mcpserver.HTTPOptions{
		AllowedHosts:   []string{"mcp.example.com"},
		AllowedOrigins: []string{"https://app.example.com"},
	}})
}

// The page may set the headers of both eras and of resumed streams, and read those that the recipe names.
func TestPagesOfTheAllowedOriginUseTheServerOfTheRecipe(t *testing.T) {
	t.Parallel()
	handler := newPublic().HTTPHandler()
	ask := func(method, origin string) *http.Response {
		r := httptest.NewRequest(method, "http://mcp.example.com/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		r.Header.Set("Origin", origin)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if method == http.MethodOptions {
			r.Header.Set("Access-Control-Request-Method", "POST")
			r.Header.Set("Access-Control-Request-Headers", "authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id")
		}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		return answer.Result()
	}
	preflight := ask(http.MethodOptions, "https://app.example.com")
	if got, asked := preflight.Header.Get("Access-Control-Allow-Headers"), 7; preflight.StatusCode != http.StatusNoContent || len(strings.Split(got, ", ")) != asked {
		t.Errorf("preflight: got %s and the headers %q, want 204 and the %d that were asked for", preflight.Status, got, asked)
	}
	answer := ask(http.MethodPost, "https://app.example.com")
	if got := answer.Header.Get("Access-Control-Allow-Origin"); got != "https://app.example.com" {
		t.Errorf("allowed origin: got %q", got)
	}
	for _, name := range []string{"Mcp-Session-Id", "WWW-Authenticate", "Retry-After"} {
		if got := answer.Header.Get("Access-Control-Expose-Headers"); !strings.Contains(got, name) {
			t.Errorf("got the readable headers %q, want %s in it", got, name)
		}
	}
	if answer := ask(http.MethodPost, "https://other.example.com"); answer.StatusCode != http.StatusForbidden {
		t.Errorf("another origin: got %s, want 403", answer.Status)
	}
}
