package mcpauth_test

import (
	"crypto/rand"
	"encoding/json/v2"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
)

// introspect makes the authorization server answer questions about tokens, and
// returns how many it got.
func (a *authority) introspect(tb testing.TB, answer func(token string) any) *atomic.Int32 {
	tb.Helper()
	asked := new(atomic.Int32)
	a.answer("/introspect", func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		id, secret, _ := r.BasicAuth()
		if r.Method != http.MethodPost || id != "notes%3Aserver" || secret != "s%2Fcret" || r.FormValue("token_type_hint") != "access_token" || r.URL.RawQuery != "" {
			tb.Errorf("got %s %s by %q", r.Method, r.URL, id)
		}
		_ = json.MarshalWrite(w, answer(r.PostFormValue("token")))
	})
	return asked
}

func (a *authority) introspection() mcpauth.Introspection {
	return mcpauth.Introspection{Issuer: a.URL, ClientID: "notes:server", ClientSecret: "s/cret"}
}

// active is the answer about a good token.
func (a *authority) active() fields {
	return fields{"active": true, "sub": "ada", "client_id": "editor", "aud": identifier, "scope": "read", "exp": time.Now().Add(time.Hour).Unix()}
}

func TestTokensAreIntrospected(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	asked := a.introspect(t, func(token string) any {
		if token == "client" {
			return changed(a.active(), fields{"sub": nil})
		}
		return changed(a.active(), fields{"active": token == "good"})
	})
	p := newProtected(t, mcpauth.Introspect(a.introspection()), mcpauth.RootCAs(a.roots()))
	p.passes("good")
	if want := (mcp.Principal{Issuer: a.URL, Subject: "ada", Client: "editor"}); p.identity.Principal != want {
		t.Errorf("got %v", p.identity.Principal)
	}
	p.passes("good")
	if got := asked.Load(); got != 1 {
		t.Errorf("asked %d times, want once", got)
	}
	p.refuses(request("Authorization", "Bearer bad"), http.StatusUnauthorized, "invalid_token")
	p.passes("client")
	if got := p.identity.Principal.Subject; got != "editor" {
		t.Errorf("token of a client: got subject %q", got)
	}
}

func TestIntrospectionFailsClosed(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	p := newProtected(t, mcpauth.Introspect(a.introspection()), mcpauth.RootCAs(a.roots()))
	for name, change := range map[string]fields{
		"inactive":          {"active": false},
		"other audience":    {"aud": "https://other.example"},
		"no audience":       {"aud": nil},
		"other issuer":      {"iss": a.URL + "/other"},
		"expired":           {"exp": time.Now().Add(-time.Minute).Unix()},
		"not valid yet":     {"nbf": time.Now().Add(10 * time.Minute).Unix()},
		"nobody's":          {"sub": nil, "client_id": nil},
		"bound to unknowns": {"cnf": fields{"x5t#S256": "x"}},
	} {
		a.introspect(t, func(string) any { return changed(a.active(), change) })
		if w := p.refuses(request("Authorization", "Bearer "+rand.Text()), http.StatusUnauthorized, "invalid_token"); t.Failed() {
			t.Fatalf("%s: %s", name, w.Body)
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"status 500":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"status 401":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) },
		"no JSON":      func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"no active":    func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") },
		"active twice": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"active":false,"active":true}`) },
		"active text":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"active":"true"}`) },
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"active":true,"x":"`+strings.Repeat("x", 1<<20)+`"}`)
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
		"hung up":       func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"another place": http.NotFound,
	} {
		a.answer("/introspect", answer)
		w := p.refuses(request("Authorization", "Bearer "+rand.Text()), http.StatusServiceUnavailable, "")
		if w.Header().Get("Retry-After") == "" || w.Header().Get("WWW-Authenticate") != "" {
			t.Errorf("%s: got %v", name, w.Header())
		}
	}
}

func TestCachedTokensAreAcceptedDuringAnOutageOfIntrospection(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	a.introspect(t, func(string) any { return a.active() })
	i := a.introspection()
	i.Endpoint = a.URL + "/introspect"
	p := newProtected(t, mcpauth.Introspect(i), mcpauth.RootCAs(a.roots()))
	p.passes("known")
	a.answer("/introspect", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	p.passes("known")
	p.refuses(request("Authorization", "Bearer new"), http.StatusServiceUnavailable, "")
}

func TestJWTsOfAKnownIssuerAreNotIntrospected(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	asked := a.introspect(t, func(string) any { return a.active() })
	p := a.protect(t, mcpauth.Introspect(a.introspection()))
	forged := newSigner(t, "one").sign(t, a.header(), encodeJSON(t, a.claims()))
	p.refuses(request("Authorization", "Bearer "+forged), http.StatusUnauthorized, "invalid_token")
	if got := asked.Load(); got != 0 {
		t.Errorf("asked %d times, want never", got)
	}
	p.passes("opaque")
}

func TestIntrospectionSecretIsNotPrinted(t *testing.T) {
	t.Parallel()
	i := mcpauth.Introspection{Issuer: "https://id.example.com", ClientID: "notes", ClientSecret: "canary"}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "i", i, "p", &i)
	texts := []string{fmt.Sprintf("%v %+v %#v %s %q %x %d", i, i, i, i, i, i, i), fmt.Sprintf("%+v", &i), log.String(), string(encodeJSON(t, i))}
	if text := strings.Join(texts, "\n"); strings.Contains(text, "canary") || strings.Contains(text, "63616e617279") || !strings.Contains(text, "notes") {
		t.Errorf("got %s", text)
	}
}
