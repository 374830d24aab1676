package browser_test

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// authority is an authorization server at which every user is called Ada, and signed in.
type authority struct {
	*httptest.Server

	mu     sync.Mutex
	codes  map[string]url.Values // guarded by mu: the requests of authorization
	tokens map[string]url.Values // guarded by mu: those for which they were
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	mux := http.NewServeMux()
	a := &authority{Server: httptest.NewServer(mux), codes: make(map[string]url.Values), tokens: make(map[string]url.Values)}
	t.Cleanup(a.Close)
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{
			"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token", "registration_endpoint": a.URL + "/register",
			"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
		})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, map[string]any{"client_id": "registered"}) })
	mux.HandleFunc("/authorize", a.authorize)
	mux.HandleFunc("/token", a.token)
	return a
}

func writeJSON(w http.ResponseWriter, members map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.MarshalWrite(w, members)
}

func (a *authority) authorize(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := r.URL.Query()
	code := fmt.Sprint("code-", len(a.codes))
	a.codes[code] = q
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": q["state"]}.Encode(), http.StatusFound)
}

func (a *authority) token(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.codes[r.FormValue("code")]
	if q == nil {
		w.WriteHeader(http.StatusBadRequest)
		writeJSON(w, map[string]any{"error": "invalid_grant"})
		return
	}
	token := fmt.Sprint("token-", len(a.tokens))
	a.tokens[token] = q
	writeJSON(w, map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 3600, "scope": q.Get("scope")})
}

// verify is that of mcpauth.VerifyWith.
func (a *authority) verify(_ context.Context, token string) (*mcpauth.Token, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.tokens[token]
	if q == nil {
		return nil, errors.New("it was not issued")
	}
	return &mcpauth.Token{
		Issuer: a.URL, Subject: "ada", Client: "registered", Audience: q["resource"], Scopes: strings.Fields(q.Get("scope")), Expires: time.Now().Add(time.Hour),
	}, nil
}

// cloud serves a server for users of the authority, and returns its URL.
func (a *authority) cloud(t *testing.T) string {
	t.Helper()
	srv := mcpserver.New("cloud", "1", nil)
	srv.Tool("now", "The time", func(context.Context, struct{}) (string, error) { return "noon", nil })
	srv.Tool("export", "Exports", func(context.Context, struct{}) (string, error) { return "exported", nil }, mcpserver.Scopes("export"))
	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	r := mcpauth.New(web.URL+"/mcp", mcpauth.VerifyWith(a.verify), mcpauth.AuthorizationServers(a.URL))
	mux.Handle("/mcp", r.Protect(srv.HTTPHandler()))
	mux.Handle("/.well-known/oauth-protected-resource/", r.Metadata())
	return web.URL + "/mcp"
}

// closeTab closes the tab that a link has opened once it shows a page with a title. That returns to the console, whose
// pages do not change while nobody sees them.
func closeTab(t *testing.T, ctx context.Context, title string) {
	t.Helper()
	for range 300 {
		tabs, err := chromedp.Targets(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(tabs, func(tab *target.Info) bool { return tab.Type == "page" && tab.Title == title }); i >= 0 {
			if _, err := cdp.Call(ctx, chromedp.FromContext(ctx).Browser, target.CloseTarget, target.CloseTargetParams{TargetID: tabs[i].TargetID}); err != nil {
				t.Fatal(err)
			}
			do(t, ctx, chromedp.Steps(chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
				_, err := cdp.Call(ctx, tab, cdppage.BringToFront, cdp.Empty{})
				return err
			})))
			return
		}
		do(t, ctx, chromedp.Sleep(50*time.Millisecond))
	}
	t.Fatalf("no tab shows %q", title)
}

// A server that wants a sign-in is in the inbox until the user has signed in, and again when a call lacks a scope.
func TestServerIsSignedInToFromTheInboxWithTheKeyboard(t *testing.T) {
	script := axe(t)
	a := newAuthority(t)
	h := up(t, fmt.Sprintf(`{"mcpServers": {"cloud": {"url": %q}}}`, a.cloud(t)), "--yes")
	ctx := open(t)
	enter(t, ctx, h)
	for _, test := range []struct{ name, call, says string }{
		{"signin", "cloud/now", "Sign in to cloud?"},
		{"signin-scope", "cloud/export", "scopes were not granted: export"},
	} {
		if got := h.run(t, "call", test.call); !strings.Contains(got, "auth login cloud") {
			t.Errorf("%s: got %q, want it refused with the command that signs in", test.call, got)
		}
		await(t, ctx, `document.querySelector(".count")?.textContent.startsWith("1")`)
		goTo(t, ctx, `document.activeElement.textContent.startsWith("Inbox")`)
		await(t, ctx, `document.querySelector("h1").textContent === "Inbox" && document.querySelector("#live-inbox").textContent.includes("`+test.says+`")`)
		check(t, ctx, script, "inbox-"+test.name)
		goTo(t, ctx, `document.activeElement.id === "signin-at-cloud"`)
		await(t, ctx, `document.querySelector("#signin-link")?.href.startsWith("`+a.URL+`/authorize?")`)
		check(t, ctx, script, test.name)
		goTo(t, ctx, `document.activeElement.id === "signin-link"`)
		closeTab(t, ctx, "Sign-in") // that of the host, at the end of the redirects
		await(t, ctx, `document.querySelector("h1").textContent === "cloud ready" && !document.querySelector("#signin-link") && document.querySelector("#log").textContent.includes("signed in")`)
		await(t, ctx, `!document.querySelector(".count")`)
		goTo(t, ctx, `document.activeElement.textContent.startsWith("Inbox")`)
		await(t, ctx, `document.body.textContent.includes("Nothing waits for you.")`)
	}
	for tool, want := range map[string]string{"now": "noon", "export": "exported"} {
		if got := h.run(t, "call", "cloud/"+tool); got != want {
			t.Errorf("%s: got %q, want %q", tool, got, want)
		}
	}
}
