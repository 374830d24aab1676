package mcpauth_test

import (
	"context"
	"encoding/json/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/mcpauth"
)

func TestWithoutAnAuthorizationServerThereIsNoMetadata(t *testing.T) {
	t.Parallel()
	p := newProtected(t, mcpauth.VerifyWith(func(context.Context, string) (*mcpauth.Token, error) { return nil, nil }))
	if got := p.refuses(request(), 401, "").Header().Get("WWW-Authenticate"); got != "Bearer" {
		t.Errorf("got challenge %q", got)
	}
	p.handler = p.auth.Metadata()
	r := request()
	r.Method, r.URL.Path = http.MethodGet, "/.well-known/oauth-protected-resource"
	if w := p.do(r); w.Code != http.StatusNotFound {
		t.Errorf("got status %d, want 404", w.Code)
	}
}

func TestMetadataIsServedAtBothPlaces(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-186", "R-187", "R-191")
	a := newAuthority(t)
	auth := mcpauth.New(identifier, mcpauth.Issuer(a.URL), mcpauth.AuthorizationServers("https://second.example", a.URL),
		mcpauth.RequireScopes("read"), mcpauth.SupportedScopes("write", "read"), mcpauth.ScopeIncludes("all", "delete"), mcpauth.RequireProof(),
		mcpauth.Describe(mcpauth.ResourceInfo{Name: "Notes", Documentation: "https://mcp.example.com/docs"}), mcpauth.Algorithms("ES256"))
	want := `{"resource":"https://mcp.example.com/mcp","authorization_servers":["` + a.URL + `","https://second.example"],` +
		`"scopes_supported":["read","write","all","delete"],"bearer_methods_supported":["header"],"dpop_signing_alg_values_supported":["ES256"],` +
		`"dpop_bound_access_tokens_required":true,"resource_name":"Notes","resource_documentation":"https://mcp.example.com/docs"}`
	root := "/.well-known/oauth-protected-resource"
	for path, status := range map[string]int{
		root: 200, root + "/": 200, root + "/mcp": 200, root + "/mcp/": 200, root + "/mc": 404, root + "/mcp/x": 404, root + "/MCP": 404, "/": 404,
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "https://mcp.example.com"+path, nil)
		r.Header.Set("Origin", "https://any.example")
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		auth.Metadata().ServeHTTP(w, r)
		if w.Code != status {
			t.Errorf("%s: got status %d, want %d", path, w.Code, status)
			continue
		}
		if h := w.Header(); status == 200 && (w.Body.String() != want || h.Get("Content-Type") != "application/json" || h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Cache-Control") != "public, max-age=300") {
			t.Errorf("%s: got %v\n%s, want\n%s", path, h, w.Body, want)
		}
	}
}

func TestMetadataAllowsOnlyReads(t *testing.T) {
	t.Parallel()
	metadata := newAuthority(t).protect(t).auth.Metadata()
	do := func(method string, headers ...string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := request(headers...)
		r.Method, r.URL.Path = method, "/.well-known/oauth-protected-resource"
		metadata.ServeHTTP(w, r)
		return w
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH"} {
		if w := do(method); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: got status %d", method, w.Code)
		}
	}
	w := do("OPTIONS", "Origin", "https://any.example", "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "mcp-protocol-version")
	if w.Code != http.StatusNoContent || w.Header().Get("Access-Control-Allow-Origin") != "*" || w.Header().Get("Access-Control-Allow-Headers") != "*" {
		t.Errorf("preflight: got status %d and %v", w.Code, w.Header())
	}
	var document struct {
		Servers []string `json:"authorization_servers"`
	}
	if err := json.Unmarshal(do("GET").Body.Bytes(), &document); err != nil || len(document.Servers) != 1 {
		t.Errorf("got %v, %v", document, err)
	}
}

func TestEachResourceIdentifierHasAMetadataURL(t *testing.T) {
	t.Parallel()
	issuer := mcpauth.Issuer("https://id.example.com")
	for identifier, want := range map[string]string{
		"https://mcp.example.com":             "https://mcp.example.com/.well-known/oauth-protected-resource",
		"https://mcp.example.com/":            "https://mcp.example.com/.well-known/oauth-protected-resource",
		"https://MCP.example.com:443/a/b":     "https://mcp.example.com/.well-known/oauth-protected-resource/a/b",
		"https://mcp.example.com/a%2Fb?c=d":   "https://mcp.example.com/.well-known/oauth-protected-resource/a%2Fb?c=d",
		"http://localhost:8080/mcp":           "http://localhost:8080/.well-known/oauth-protected-resource/mcp",
		"http://[::1]:8080/mcp":               "http://[::1]:8080/.well-known/oauth-protected-resource/mcp",
		"https://[2606:4700::1111]:8443/mcp/": "https://[2606:4700::1111]:8443/.well-known/oauth-protected-resource/mcp",
	} {
		auth := mcpauth.New(identifier, issuer)
		w := httptest.NewRecorder()
		r := request()
		r.Host = "localhost"
		auth.Protect(http.NotFoundHandler()).ServeHTTP(w, r)
		if got := param(w.Header().Get("WWW-Authenticate"), "resource_metadata"); got != want {
			t.Errorf("%s: got %q, want %q", identifier, got, want)
			continue
		}
		w = httptest.NewRecorder()
		r = httptest.NewRequest(http.MethodGet, want, nil)
		r.Host = "localhost"
		auth.Metadata().ServeHTTP(w, r)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"resource":"`+identifier+`"`) {
			t.Errorf("%s: got status %d, %s", want, w.Code, w.Body)
		}
	}
}
