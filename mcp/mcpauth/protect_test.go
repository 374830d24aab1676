package mcpauth_test

import (
	"context"
	"encoding/json/v2"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const metadataURL = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"

func TestGoodTokenReachesTheHandler(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-192")
	a := newAuthority(t)
	p := a.protect(t)
	expires := time.Now().Add(time.Hour).Truncate(time.Second)
	for name, change := range map[string]fields{
		"plain":                    {},
		"audience in a list":       {"aud": []string{"https://other.example", identifier}},
		"audience in another case": {"aud": "HTTPS://MCP.example.com:443/mcp"},
		"azp":                      {"client_id": nil, "azp": "editor"},
		"scp, a list":              {"scope": nil, "scp": []string{"read", "write"}},
		"scp, a text":              {"scope": nil, "scp": "read write"},
		"fractions of seconds":     {"iat": float64(time.Now().UnixNano()) / 1e9},
		"clock ahead within skew":  {"iat": time.Now().Add(25 * time.Second).Unix(), "nbf": time.Now().Add(25 * time.Second).Unix()},
		"unknown claims":           {"roles": []string{"x"}, "ISS": "https://evil.example"},
		"issued long ago":          {"iat": time.Now().Add(-1000 * time.Hour).Unix()},
		"no time of issue":         {"iat": nil},
	} {
		p.passes(a.token(t, changed(fields{"exp": expires.Unix()}, change)))
		want := mcp.Principal{Issuer: a.URL, Subject: "ada", Client: "editor"}
		if p.identity == nil || p.identity.Principal != want || !slices.Equal(p.identity.Scopes, []string{"read", "write"}) || !p.identity.Expires.Equal(expires) {
			t.Errorf("%s: got identity %+v", name, p.identity)
		}
		if p.token == nil || p.token.Subject != "ada" || !p.token.Claims.IsValid() {
			t.Errorf("%s: got token %+v", name, p.token)
		}
	}
	p.passes(a.token(t, fields{"exp": time.Now().Add(-5 * time.Second).Unix()}))
}

func TestHandlerNeverSeesTheToken(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-193b")
	a := newAuthority(t)
	p := a.protect(t)
	token := a.token(t, nil)
	r := request("Authorization", "bEaReR "+token, "DPoP", "x", "Accept", "kept")
	if w := p.do(r); w.Code != http.StatusOK {
		t.Fatalf("got status %d", w.Code)
	}
	if h := p.inner.Header; h.Get("Authorization") != "" || h.Get("DPoP") != "" || h.Get("Accept") != "kept" {
		t.Errorf("got headers %v", h)
	}
	if r.Header.Get("Authorization") == "" {
		t.Error("the request of the caller was changed")
	}
	if text := string(encodeJSON(t, p.token)) + string(encodeJSON(t, p.identity.Principal)); strings.Contains(text, token) {
		t.Errorf("the token is in what the handler gets: %s", text)
	}
}

func TestRequestsWithoutCredentialsAreChallenged(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-185", "R-187", "R-188")
	p := newAuthority(t).protect(t, mcpauth.RequireScopes("read", "write"))
	for name, r := range map[string]*http.Request{
		"none":           request(),
		"another scheme": request("Authorization", "Basic YTpi"),
		"empty":          request("Authorization", ""),
		"body":           postForm("access_token=x"),
		"options":        httptest.NewRequest(http.MethodOptions, identifier, nil),
	} {
		w := p.refuses(r, http.StatusUnauthorized, "")
		want := `Bearer scope="read write", resource_metadata="` + metadataURL + `"`
		if got := w.Header().Get("WWW-Authenticate"); got != want {
			t.Errorf("%s: got challenge %q, want %q", name, got, want)
		}
	}
}

func postForm(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, identifier, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

func TestMalformedCredentialsAreBadRequests(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-185")
	a := newAuthority(t)
	p := a.protect(t)
	token := a.token(t, nil)
	for _, headers := range [][]string{
		{"Authorization", "Bearer"},
		{"Authorization", "Bearer "},
		{"Authorization", "Bearer ="},
		{"Authorization", "Bearer " + token + ","},
		{"Authorization", "Bearer " + token + " " + token},
		{"Authorization", "Bearer \"" + token + "\""},
		{"Authorization", "Bearer " + token, "Authorization", "Bearer " + token},
		{"Authorization", "Basic YTpi", "Authorization", "Bearer " + token},
	} {
		p.refuses(request(headers...), http.StatusBadRequest, "invalid_request")
	}
	query := request("Authorization", "Bearer "+token)
	query.URL.RawQuery = "access_token=" + token
	p.refuses(query, http.StatusBadRequest, "invalid_request")
	query.Header.Del("Authorization")
	p.refuses(query, http.StatusBadRequest, "invalid_request")
}

func TestAllScopesThatARequestNeedsAreAskedForAtOnce(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-189", "R-191")
	a := newAuthority(t)
	p := a.protect(t, mcpauth.RequireScopes("read", "pay", "ship"))
	w := p.refuses(request("Authorization", "Bearer "+a.token(t, nil)), http.StatusForbidden, "insufficient_scope")
	if got := w.Header().Get("WWW-Authenticate"); param(got, "scope") != "read pay ship" || param(got, "resource_metadata") != metadataURL {
		t.Errorf("got challenge %q", got)
	}
	p.passes(a.token(t, fields{"scope": "ship read pay"}))
	want := `Bearer error="insufficient_scope", error_description="the token lacks a scope", scope="a b", resource_metadata="` + metadataURL + `"`
	if got := p.identity.Challenge([]string{"a", "b", "offline_access", `bad"scope`, "a"}); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestScopesIncludeOtherScopes(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-190")
	a := newAuthority(t)
	p := a.protect(t, mcpauth.RequireScopes("notes:read"),
		mcpauth.ScopeIncludes("admin", "notes"), mcpauth.ScopeIncludes("notes", "notes:read", "notes:write", "admin"))
	p.passes(a.token(t, fields{"scope": "admin"}))
	if got, want := p.identity.Scopes, []string{"admin", "notes", "notes:read", "notes:write"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := p.token.Scopes; !slices.Equal(got, []string{"admin"}) {
		t.Errorf("granted: got %q", got)
	}
	p.refuses(request("Authorization", "Bearer "+a.token(t, fields{"scope": "notes:write"})), http.StatusForbidden, "insufficient_scope")
}

func TestKeysOfAnIssuerVerifyOnlyItsOwnTokens(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-193a")
	a, b := newAuthority(t), newAuthority(t)
	roots := a.roots()
	roots.AddCert(b.Certificate())
	p := newProtected(t, mcpauth.Issuer(a.URL), mcpauth.IssuerKeys(b.URL, b.URL+"/keys"), mcpauth.RootCAs(roots))
	p.passes(a.token(t, nil))
	p.passes(b.token(t, nil))
	if p.identity.Principal.Issuer != b.URL {
		t.Errorf("got issuer %q", p.identity.Principal.Issuer)
	}
	p.refuses(request("Authorization", "Bearer "+a.token(t, fields{"iss": b.URL})), http.StatusUnauthorized, "invalid_token")
	p.refuses(request("Authorization", "Bearer "+b.token(t, fields{"iss": a.URL})), http.StatusUnauthorized, "invalid_token")
}

func TestIssuerOfATokenMayHaveTheSlashOfAnEmptyPath(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	a.answer("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.MarshalWrite(w, fields{"issuer": a.URL + "/", "jwks_uri": a.URL + "/keys"})
	})
	for _, configured := range []string{a.URL, a.URL + "/"} {
		p := newProtected(t, mcpauth.Issuer(configured), mcpauth.RootCAs(a.roots()))
		for _, claimed := range []string{a.URL, a.URL + "/"} {
			p.passes(a.token(t, fields{"iss": claimed}))
			if got := p.identity.Principal.Issuer; got != configured || p.token.Issuer != configured {
				t.Errorf("token of %s: got the principal of %s, want that of %s", claimed, got, configured)
			}
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("one issuer was taken twice")
		}
	}()
	newProtected(t, mcpauth.Issuer(a.URL), mcpauth.Issuer(a.URL+"/"))
}

// TestUnknownIssuersOfTokensAreLoggedOnce has tokens of an issuer whose identifier differs from
// the configured one, as those of Entra ID do, and of anybody.
func TestUnknownIssuersOfTokensAreLoggedOnce(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	p := a.protect(t)
	for range 2 {
		p.refuses(request("Authorization", "Bearer "+a.token(t, fields{"iss": a.URL + "/v2.0/"})), http.StatusUnauthorized, "invalid_token")
	}
	log := p.log.String()
	if n := strings.Count(log, "a token names an unknown issuer"); n != 1 || !strings.Contains(log, a.URL+"/v2.0/") || !strings.Contains(log, `"want":"`+a.URL+`"`) {
		t.Errorf("got %d lines, want one with both issuers; logged %s", n, log)
	}
	for i := range 40 {
		p.refuses(request("Authorization", "Bearer "+a.token(t, fields{"iss": "https://evil.example/" + strconv.Itoa(i)})), http.StatusUnauthorized, "invalid_token")
	}
	p.refuses(request("Authorization", "Bearer "+a.token(t, fields{"iss": "BANNER\x1b[2J"})), http.StatusUnauthorized, "invalid_token")
	log = p.log.String()
	if n := strings.Count(log, "a token names an unknown issuer"); n != 16 || strings.Contains(log, "BANNER") {
		t.Errorf("got %d lines, want 16, and no text that is not an issuer; logged %s", n, log)
	}
}

func TestPreflightsPassWithoutAnIdentity(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	p := a.protect(t)
	preflight := httptest.NewRequest(http.MethodOptions, identifier, nil)
	preflight.Header.Set("Origin", "https://app.example.com")
	preflight.Header.Set("Access-Control-Request-Method", "POST")
	if w := p.do(preflight); w.Code != http.StatusOK || p.calls != 1 || p.identity != nil {
		t.Errorf("got status %d, %d calls, identity %v", w.Code, p.calls, p.identity)
	}
	preflight.Header.Set("Authorization", "Bearer x")
	p.refuses(preflight, http.StatusUnauthorized, "invalid_token")
	post := request("Origin", "https://app.example.com", "Access-Control-Request-Method", "POST")
	p.refuses(post, http.StatusUnauthorized, "")
}

// TestServerIsProtected puts Protect in front of a server of mcpserver.
func TestServerIsProtected(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	const app = "https://app.example.com"
	s := mcpserver.New("protected", "1", &mcpserver.Options{HTTP: &mcpserver.HTTPOptions{
		AllowedHosts: []string{"mcp.example.com"}, AllowedOrigins: []string{app},
	}})
	t.Cleanup(func() { _ = s.Shutdown(t.Context()) })
	h := mcpauth.New(identifier, mcpauth.Issuer(a.URL), mcpauth.RootCAs(a.roots())).Protect(s.HTTPHandler())
	do := func(r *http.Request) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	foreign := request()
	foreign.Host = "evil.example"
	if w := do(foreign); w.Code != http.StatusForbidden {
		t.Errorf("foreign host: got status %d, want 403", w.Code)
	}
	if w := do(request("Origin", "https://evil.example")); w.Code != http.StatusForbidden || w.Header().Get("WWW-Authenticate") != "" {
		t.Errorf("foreign origin: got status %d, want 403 and no challenge", w.Code)
	}
	w := do(request("Origin", app))
	if w.Code != http.StatusUnauthorized || w.Header().Get("Access-Control-Allow-Origin") != app || !strings.Contains(w.Header().Get("Access-Control-Expose-Headers"), "WWW-Authenticate") {
		t.Errorf("allowed origin: got status %d and %v, want a 401 that the page can read", w.Code, w.Header())
	}
	preflight := httptest.NewRequest(http.MethodOptions, identifier, nil)
	preflight.Header.Set("Origin", app)
	preflight.Header.Set("Access-Control-Request-Method", "POST")
	if w := do(preflight); w.Code != http.StatusNoContent {
		t.Errorf("preflight: got status %d, want 204", w.Code)
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + mcp.V20251125.String() + `","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	call := httptest.NewRequest(http.MethodPost, identifier, strings.NewReader(body))
	call.Header.Set("Content-Type", "application/json")
	call.Header.Set("Accept", "application/json, text/event-stream")
	call.Header.Set("Authorization", "Bearer "+a.token(t, nil))
	if w := do(call); w.Code != http.StatusOK {
		t.Errorf("with a token: got status %d, %s", w.Code, w.Body)
	}
}

// TestEveryConnectionIsAuthenticated sends what each revision can send, to each path
// that it has, without a token and with a bad one.
func TestEveryConnectionIsAuthenticated(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-092c", "R-099b", "R-128b")
	a := newAuthority(t)
	var calls atomic.Int32
	s := mcpserver.New("protected", "1", &mcpserver.Options{HTTP: &mcpserver.HTTPOptions{AllowedHosts: []string{"mcp.example.com"}}})
	s.Use(func(next mcpserver.Handler) mcpserver.Handler {
		return func(ctx context.Context, r *mcpserver.Request) (any, error) {
			calls.Add(1)
			return next(ctx, r)
		}
	})
	t.Cleanup(func() { _ = s.Shutdown(context.Background()) })
	h := mcpauth.New(identifier, mcpauth.Issuer(a.URL), mcpauth.RootCAs(a.roots())).Protect(s.HTTPHandler())
	for _, v := range mcp.Revisions() {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete, http.MethodPut} {
			for _, message := range []string{"initialize", "server/discover", "tools/list", "notifications/initialized"} {
				for credentials, code := range map[string]string{"": "", "Bearer " + a.token(t, fields{"aud": "https://other.example"}): "invalid_token"} {
					body := `{"jsonrpc":"2.0","id":1,"method":"` + message + `","params":{"protocolVersion":"` + v.String() + `"}}`
					r := httptest.NewRequest(method, identifier, strings.NewReader(body))
					r.Header.Set("Content-Type", "application/json")
					r.Header.Set("Accept", "application/json, text/event-stream")
					r.Header.Set("MCP-Protocol-Version", v.String())
					if credentials != "" {
						r.Header.Set("Authorization", credentials)
					}
					w := httptest.NewRecorder()
					if h.ServeHTTP(w, r); w.Code != http.StatusUnauthorized || param(w.Header().Get("WWW-Authenticate"), "error") != code {
						t.Errorf("%s %s %s: got status %d, %v", v, method, message, w.Code, w.Header())
					}
				}
			}
		}
	}
	if n := calls.Load(); n > 0 {
		t.Errorf("%d requests reached the server", n)
	}
}

// TestForeignHostsOnLoopbackAreRefused is about DNS rebinding, on every route.
func TestForeignHostsOnLoopbackAreRefused(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	p := a.protect(t, mcpauth.AllowedHosts("proxy.internal"))
	mux := http.NewServeMux()
	mux.Handle("/mcp", p.handler)
	mux.Handle("/.well-known/oauth-protected-resource/", p.auth.Metadata())
	server := httptest.NewServer(mux)
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	for host, want := range map[string][2]int{
		"evil.example":           {403, 403},
		"localhost.evil":         {403, 403},
		"127.0.0.1.nip.io":       {403, 403},
		"x/?":                    {400, 400},
		"x/#":                    {400, 400},
		"mcp.example.com":        {401, 200},
		"mcp.example.com.":       {401, 200},
		"MCP.example.com":        {401, 200},
		"proxy.internal":         {401, 200},
		"localhost":              {401, 200},
		"LOCALHOST:" + port:      {401, 200},
		"[::1]:" + port:          {401, 200},
		"mcp.example.com@evil.x": {400, 400},
	} {
		for i, path := range []string{"/mcp", "/.well-known/oauth-protected-resource/mcp"} {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
				if i == 1 && method != http.MethodGet {
					continue
				}
				r, _ := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
				r.Host = host
				resp, err := server.Client().Do(r)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if resp.StatusCode != want[i] {
					t.Errorf("%s %s of %q: got status %d, want %d", method, path, host, resp.StatusCode, want[i])
				}
			}
		}
	}
}

func TestTokenThatIsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	var lengths []int
	p := newAuthority(t).protect(t, mcpauth.VerifyWith(func(_ context.Context, token string) (*mcpauth.Token, error) {
		lengths = append(lengths, len(token))
		return nil, errors.New("unknown")
	}))
	for _, length := range []int{16 << 10, 16<<10 + 1} {
		p.refuses(request("Authorization", "Bearer "+strings.Repeat("a", length)), http.StatusUnauthorized, "invalid_token")
	}
	if !slices.Equal(lengths, []int{16 << 10}) {
		t.Errorf("got tokens of %v bytes at the verifier, want only the one within the limit", lengths)
	}
}
