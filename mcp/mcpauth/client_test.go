package mcpauth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/mcpauth"
)

func TestSignIn(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-158", "R-160", "R-161", "R-166a", "R-166b", "R-168a", "R-168b", "R-169a", "R-170a", "R-170b")
	r := newRealm(t)
	c := mcpauth.NewClient(r.options())
	r.succeeds(c)
	r.expectLog("GET /prm", "AS GET /.well-known/oauth-authorization-server", "AS POST /register", "AS GET /authorize", "AS POST /token")
	q, f := r.asked[0], r.forms[0]
	if q.Get("resource") != r.mcp() || f.Get("resource") != r.mcp() || q.Get("response_type") != "code" || q.Get("client_id") != "client-1" || q.Has("scope") {
		t.Errorf("asked for %v, then %v", q, f)
	}
	if q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 || len(q.Get("state")) != 43 || len(f.Get("code_verifier")) != 43 {
		t.Errorf("asked for %v, then %v", q, f)
	}
	redirect := r.clients[0]["redirect_uris"].([]any)[0].(string)
	if !strings.HasPrefix(redirect, "http://127.0.0.1:") || q.Get("redirect_uri") != redirect {
		t.Errorf("registered %s, came back to %s", redirect, q.Get("redirect_uri"))
	}
	for range 3 {
		r.succeeds(c)
	}
	r.expectLog()
	for _, req := range r.sent[1:] {
		if !strings.HasPrefix(req.Header.Get("Authorization"), "Bearer CANARY-access-1") || req.URL.RawQuery != "" {
			t.Errorf("request to %s with %q", req.URL, req.Header.Get("Authorization"))
		}
	}
}

func TestTokensAreUsedAgainByALaterClient(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-175a")
	r := newRealm(t)
	o := r.options()
	o.Store = mcpauth.MemoryStore()
	r.succeeds(mcpauth.NewClient(o))
	r.took()
	r.succeeds(mcpauth.NewClient(o))
	r.expectLog()
	r.kill(true)
	r.succeeds(mcpauth.NewClient(o))
	if log := r.took(); strings.Contains(log, "/register") || !strings.Contains(log, "/authorize") {
		t.Errorf("want a sign-in of the same client, got\n%s", log)
	}
	if a, b := r.asked[0].Get("redirect_uri"), r.asked[1].Get("redirect_uri"); a != b {
		t.Errorf("redirected to %s, which is not the registered %s", b, a)
	}
	other := *o
	other.Account = "other"
	r.succeeds(mcpauth.NewClient(&other))
	if len(r.asked) != 3 {
		t.Error("another account was served with the token of the first")
	}
}

func TestRefusedTokenIsRefreshedOnceBeforeTheUserIsAsked(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-181a")
	r := newRealm(t)
	c := mcpauth.NewClient(r.options())
	r.succeeds(c)
	r.kill(false)
	r.succeeds(c)
	if f := r.forms[1]; len(r.asked) != 1 || f.Get("grant_type") != "refresh_token" || f.Get("resource") != r.mcp() {
		t.Errorf("%d sign-ins, then %v", len(r.asked), f)
	}
	r.kill(true)
	r.succeeds(c)
	if len(r.asked) != 2 {
		t.Errorf("%d sign-ins, want another when there is nothing to refresh", len(r.asked))
	}
}

func TestRefusedNewTokensEndTheRequest(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	c := mcpauth.NewClient(r.options())
	r.succeeds(c)
	r.refuses = true
	if err := r.fails(c, "refused a new token"); !errors.Is(err, mcpauth.ErrDenied) {
		t.Errorf("got %v", err)
	}
	if len(r.asked) > 2 || len(r.forms) > 3 {
		t.Errorf("%d sign-ins, %d token requests; want one refresh and one sign-in more", len(r.asked), len(r.forms))
	}
}

func TestConcurrentCallersShareOneSignIn(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	c := mcpauth.NewClient(r.options())
	for range 2 {
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { r.succeeds(c) })
		}
		wg.Wait()
		if len(r.asked) != 1 {
			t.Errorf("%d sign-ins", len(r.asked))
		}
		r.kill(false)
	}
	if len(r.forms) > 2 {
		t.Errorf("%d token requests, want one sign-in and one refresh", len(r.forms))
	}
}

func TestSignInEndsWithItsLastCaller(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	o := r.options()
	opened := make(chan struct{})
	o.Browser = func(ctx context.Context, _ string) error {
		close(opened)
		<-ctx.Done()
		return context.Cause(ctx)
	}
	c := mcpauth.NewClient(o)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-opened; cancel() }()
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, r.mcp(), nil)
	resp := &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{"Www-Authenticate": {r.challenge}}}
	if err := c.Challenged(req, resp); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestTokensGoToNoOtherServer(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-167")
	r := newRealm(t)
	c := mcpauth.NewClient(r.options())
	r.succeeds(c)
	port := r.server.URL[strings.LastIndex(r.server.URL, ":"):]
	for _, address := range []string{
		r.issuer.URL + "/mcp", r.server.URL + "/other", r.server.URL + "/mcpx", r.server.URL, "http://127.0.0.1" + port + "/mcp",
		"https://localhost" + port + "/mcp", "https://127.0.0.1/mcp", "http://mcp.example.com/mcp",
	} {
		req, err := http.NewRequest(http.MethodPost, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Authorize(req); err != nil || req.Header.Get("Authorization") != "" {
			t.Errorf("%s: got %q, %v", address, req.Header.Get("Authorization"), err)
		}
	}
	req, _ := http.NewRequest(http.MethodPost, "http://mcp.example.com/mcp", nil)
	if err := c.Challenged(req, &http.Response{StatusCode: 401, Header: http.Header{}}); err == nil || !strings.Contains(err.Error(), "https") {
		t.Errorf("a token for a plain http server: %v", err)
	}
}

func TestServerWithoutPKCEIsRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-169b")
	for _, methods := range []any{nil, []string{}, []string{"plain"}, []string{"s256"}} {
		for _, place := range []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"} {
			r := newRealm(t)
			r.metadata = map[string]members{place: with(r.issuerMetadata(""), members{"code_challenge_methods_supported": methods})}
			r.fails(mcpauth.NewClient(r.options()), "PKCE")
			if log := r.took(); strings.Contains(log, "/register") || strings.Contains(log, "/authorize") {
				t.Errorf("%v: something was begun:\n%s", methods, log)
			}
		}
	}
}

func TestResponseOfAnotherIssuerIsNotUsed(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-179", "R-180")
	for _, tt := range []struct {
		iss        string // "-" is none
		advertised any
		fault      string // replaces the code
		want       string // of the error; empty is success
	}{
		{"=", true, "", ""},
		{"-", true, "", "names no issuer"},
		{"/", true, "", "another issuer"},
		{"//", true, "", "another issuer"},
		{"=", nil, "", ""},
		{"-", nil, "", ""},
		{"https://evil.example", nil, "", "another issuer"},
		{"https://evil.example", false, "", "another issuer"},
		{"https://evil.example", true, "access_denied", "another issuer"},
		{"=", true, "access_denied", "access_denied"},
		{"-", true, "access_denied", "names no issuer"},
	} {
		r := newRealm(t)
		r.metadata["/.well-known/oauth-authorization-server"] = with(r.issuerMetadata(""), members{"authorization_response_iss_parameter_supported": tt.advertised})
		r.respond = func(response url.Values) {
			switch tt.iss {
			case "-":
				delete(response, "iss")
			case "/", "//":
				response["iss"][0] += tt.iss
			case "=":
			default:
				response["iss"] = []string{tt.iss}
			}
			if tt.fault != "" {
				delete(response, "code")
				response["error"], response["error_description"] = []string{tt.fault}, []string{"CANARY-shown"}
			}
		}
		c := mcpauth.NewClient(r.options())
		if tt.want == "" {
			r.succeeds(c)
			continue
		}
		err := r.fails(c, tt.want)
		if len(r.forms) > 0 || tt.want != tt.fault && tt.fault != "" && strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%+v: %d token requests, error %v", tt, len(r.forms), err)
		}
	}
}

func TestEndlessChallengesEnd(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-178")
	r := newRealm(t)
	var n atomic.Int32
	r.forbid = func() string {
		return fmt.Sprintf(`Bearer error="insufficient_scope", scope="more-%d"`, n.Add(1))
	}
	c := mcpauth.NewClient(r.options())
	for range 5 {
		_, _ = r.call(c)
	}
	if err := r.fails(c, "and the user was asked for more scopes already"); !errors.Is(err, mcpauth.ErrDenied) {
		t.Errorf("got %v", err)
	}
	if len(r.asked) > 4 {
		t.Errorf("%d sign-ins for one operation, want the first and three more", len(r.asked))
	}
	// Another operation has a count of its own.
	before := len(r.asked)
	_, _ = r.callAt(c, r.mcp(), `{"method":"tools/call","params":{"name":"other"}}`)
	if len(r.asked) == before {
		t.Error("another operation was not tried")
	}
	r.forbid = func() string { return `Bearer error="insufficient_scope", scope="same"` }
	before = len(r.asked)
	_, err := r.callAt(c, r.mcp(), `{"method":"tools/call","params":{"name":"third"}}`)
	if !errors.Is(err, mcpauth.ErrDenied) || len(r.asked) != before+1 {
		t.Errorf("%d sign-ins for the same scopes, want one; %v", len(r.asked)-before, err)
	}
	r.forbid = func() string { return "" }
	if err := r.fails(c, "403"); !errors.Is(err, mcpauth.ErrDenied) {
		t.Errorf("got %v", err)
	}
}

func TestStepUpKeepsWhatWasGranted(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-176", "R-177", "R-178")
	r := newRealm(t)
	r.challenge += `, scope="read"`
	r.resource["/prm"]["scopes_supported"] = []string{"everything"}
	r.metadata["/.well-known/oauth-authorization-server"]["scopes_supported"] = []string{"offline_access", "unrelated"}
	c := mcpauth.NewClient(r.options())
	r.succeeds(c)
	r.needs = []string{"write", "beyond"}
	r.succeeds(c)
	var asked []string
	for _, q := range r.asked {
		asked = append(asked, q.Get("scope"))
	}
	if want := []string{"read offline_access", "read write beyond offline_access"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}

func TestScopesAreChosen(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-176")
	for _, tt := range []struct {
		challenge string
		server    any // scopes_supported of the MCP server
		issuer    any // … of the authorization server
		want      string
	}{
		{` , scope="a b"`, []string{"c"}, nil, "a b"},
		{``, []string{"c", "d"}, nil, "c d"},
		{``, nil, []string{"e"}, ""},
		{``, nil, []string{"offline_access"}, ""},
		{``, []string{"c"}, []string{"c", "offline_access"}, "c offline_access"},
		{` , scope="a offline_access"`, nil, []string{"a"}, "a"},
		{` , scope=""`, []string{"c"}, nil, ""},
		{``, []string{"c", "bad scope", "\"", ""}, nil, "c"},
	} {
		r := newRealm(t)
		r.challenge += tt.challenge
		r.resource["/prm"] = with(r.resource["/prm"], members{"scopes_supported": tt.server})
		r.metadata["/.well-known/oauth-authorization-server"] = with(r.issuerMetadata(""), members{"scopes_supported": tt.issuer})
		r.succeeds(mcpauth.NewClient(r.options()))
		if q := r.asked[0]; q.Get("scope") != tt.want || q.Has("scope") != (tt.want != "") {
			t.Errorf("%+v: asked for %q", tt, q["scope"])
		}
	}
}

func TestOptionsThatMakeNoSenseAreErrors(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	for _, o := range []*mcpauth.ClientOptions{
		{MetadataURL: "https://app.example.com"},
		{MetadataURL: "http://app.example.com/client.json"},
		{Registered: []mcpauth.Registration{{ID: "x"}}},
		{Registered: []mcpauth.Registration{{Issuer: "https://as.example.com"}}},
		{Grant: &mcpauth.ClientCredentials{}},
	} {
		r.fails(mcpauth.NewClient(o), "want")
	}
	r.expectLog()
}

func TestNilOptionsWork(t *testing.T) {
	t.Parallel()
	c := mcpauth.NewClient(nil)
	req, _ := http.NewRequest(http.MethodPost, "https://mcp.example.com/mcp", nil)
	if err := c.Authorize(req); err != nil || len(req.Header) > 0 {
		t.Errorf("got %v, %v", req.Header, err)
	}
}
