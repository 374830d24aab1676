package mcpauth_test

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// passed is a handler that keeps the requests that reach it.
type passed struct{ requests []*http.Request }

func (p *passed) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	p.requests = append(p.requests, r)
}

func ada() *mcp.Identity {
	return &mcp.Identity{
		Principal: mcp.Principal{Issuer: "app", Subject: "ada"},
		Scopes:    []string{"notes:read"},
		Claims:    jsontext.Value(`{"team":"red"}`),
	}
}

// errPanicking is an error all of whose methods panic.
type errPanicking struct{}

func (errPanicking) Error() string   { panic("oops") }
func (errPanicking) Is(error) bool   { panic("oops") }
func (errPanicking) As(any) bool     { panic("oops") }
func (errPanicking) Unwrap() []error { panic("oops") }

func TestOnlyAUsableIdentityPassesAuthenticate(t *testing.T) {
	claim.Shows(t, "R-128b", "R-194b")
	logged := new(bytes.Buffer)
	former := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug})))
	defer slog.SetDefault(former)
	const secret = "s3cr3t"
	identity := func(change func(*mcp.Identity)) func(*http.Request) (*mcp.Identity, error) {
		return func(*http.Request) (*mcp.Identity, error) {
			who := ada()
			change(who)
			return who, nil
		}
	}
	fails := func(err error) func(*http.Request) (*mcp.Identity, error) {
		return func(*http.Request) (*mcp.Identity, error) { return nil, err }
	}
	const bearer, invalid = `Bearer`, `Bearer error="invalid_token"`
	for _, test := range []struct {
		name      string
		identify  func(*http.Request) (*mcp.Identity, error)
		header    http.Header
		status    int
		challenge string
		body      string
	}{
		{"neither", fails(nil), nil, 401, bearer, "credentials are needed"},
		{"neither, with a header", fails(nil), http.Header{"Authorization": {"Bearer " + secret}}, 401, invalid, "credentials are needed"},
		{"an error", fails(errors.New("bad " + secret)), http.Header{"Authorization": {"Bearer " + secret}}, 401, invalid, "the credentials are not valid"},
		{"both", func(*http.Request) (*mcp.Identity, error) { return ada(), errors.New("bad") }, nil, 401, bearer, "the credentials are not valid"},
		{"unavailable", fails(fmt.Errorf("database: %w", mcpauth.ErrUnavailable)), nil, 503, "", "credentials cannot be verified now"},
		{"too late", fails(context.DeadlineExceeded), nil, 503, "", "credentials cannot be verified now"},
		{"a panic", func(*http.Request) (*mcp.Identity, error) { panic("oops") }, nil, 500, "", "internal error"},
		{"a panic of the error", fails(errPanicking{}), nil, 500, "", "internal error"},
		{"its own challenge", fails(mcpauth.Challenge(`Basic realm="app"`, errors.New("bad"))), nil, 401, `Basic realm="app"`, "the credentials are not valid"},
		{"its own challenge without a cause", fails(fmt.Errorf("x: %w", mcpauth.Challenge(`Basic realm="app"`, nil))), nil, 401, `Basic realm="app"`, "credentials are needed"},
		{"unavailable with a challenge", fails(mcpauth.Challenge("Bearer", mcpauth.ErrUnavailable)), nil, 503, "", "credentials cannot be verified now"},
		{"expired", identity(func(who *mcp.Identity) { who.Expires = time.Now().Add(-time.Second) }), nil, 401, bearer, "the credentials are not valid"},
		{"the local user", identity(func(who *mcp.Identity) { who.Principal = mcp.PrincipalLocal }), nil, 500, "", "internal error"},
		{"nobody", identity(func(who *mcp.Identity) { who.Principal = mcp.PrincipalAnonymous }), nil, 500, "", "internal error"},
		{"no subject", identity(func(who *mcp.Identity) { who.Principal.Subject = "" }), nil, 500, "", "internal error"},
		{"no issuer", identity(func(who *mcp.Identity) { who.Principal.Issuer = "" }), nil, 500, "", "internal error"},
	} {
		logged.Reset()
		var next passed
		r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", nil)
		if test.header != nil {
			r.Header = test.header
		}
		r = r.WithContext(mcp.WithIdentity(r.Context(), ada())) // of a handler in front, which does not count
		w := httptest.NewRecorder()
		mcpauth.Authenticate(test.identify)(&next).ServeHTTP(w, r)
		if w.Code != test.status || w.Header().Get("WWW-Authenticate") != test.challenge || w.Body.String() != "authentication: "+test.body+"\n" {
			t.Errorf("%s: got %d, challenge %q, %q; want %d, %q, %q", test.name, w.Code, w.Header().Get("WWW-Authenticate"), w.Body, test.status, test.challenge, test.body)
		}
		if len(next.requests) > 0 {
			t.Errorf("%s: the request has passed", test.name)
		}
		if got := logged.String(); !strings.Contains(got, fmt.Sprintf("status=%d", test.status)) || strings.Contains(got, secret) {
			t.Errorf("%s: got log %q, want the status and no token", test.name, got)
		}
		if got := w.Header().Get("Retry-After") != ""; got != (test.status == 503) {
			t.Errorf("%s: got Retry-After %v", test.name, got)
		}
	}
}

func TestAuthenticatePassesACopyOfTheIdentityWithoutCredentials(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-193b")
	who := ada()
	var next passed
	h := mcpauth.Authenticate(func(r *http.Request) (*mcp.Identity, error) {
		if r.Header.Get("Authorization") != "Bearer x" || r.Header.Get("Cookie") != "a=b" {
			t.Errorf("the function got %v, want the credentials", r.Header)
		}
		return who, nil
	})(&next)
	r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", nil)
	r.Header = http.Header{"Authorization": {"Bearer x"}, "Cookie": {"a=b"}, "Dpop": {"proof"}, "Accept": {"*/*"}}
	h.ServeHTTP(httptest.NewRecorder(), r)
	if len(next.requests) != 1 {
		t.Fatalf("got %d requests, want 1", len(next.requests))
	}
	got := next.requests[0]
	if len(got.Header) != 1 || got.Header.Get("Accept") != "*/*" || r.Header.Get("Authorization") == "" {
		t.Errorf("got headers %v of %v, want them without credentials", got.Header, r.Header)
	}
	seen := mcp.IdentityFrom(got.Context())
	who.Principal.Subject, who.Scopes[0], who.Claims[2] = "mallory", "admin", 'T'
	if seen.Principal != (mcp.Principal{Issuer: "app", Subject: "ada"}) || !slices.Equal(seen.Scopes, []string{"notes:read"}) || string(seen.Claims) != `{"team":"red"}` {
		t.Errorf("got %+v, want what the function had returned", seen)
	}
	if got, want := seen.Challenge([]string{"notes:write", `a"b`}), `Bearer error="insufficient_scope", scope="notes:write a\"b"`; got != want {
		t.Errorf("got challenge %s, want %s", got, want)
	}
}

func TestAuthenticateAsksForEveryRequest(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-125a")
	var next passed
	calls := 0
	h := mcpauth.Authenticate(func(*http.Request) (*mcp.Identity, error) {
		if calls++; calls == 2 {
			return nil, errors.New("revoked")
		}
		return ada(), nil
	})(&next)
	var codes []int
	for range 3 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://localhost/mcp", nil))
		codes = append(codes, w.Code)
	}
	if want := []int{200, 401, 200}; !slices.Equal(codes, want) {
		t.Errorf("got %v, want %v", codes, want)
	}
}

func TestAuthenticatePassesPreflightsWithoutIdentity(t *testing.T) {
	t.Parallel()
	var next passed
	h := mcpauth.Authenticate(func(*http.Request) (*mcp.Identity, error) {
		t.Error("the function was called for a preflight")
		return nil, nil
	})(&next)
	r := httptest.NewRequest(http.MethodOptions, "http://localhost/mcp", nil)
	r.Header.Set("Origin", "https://app.example.com")
	r.Header.Set("Access-Control-Request-Method", "POST")
	h.ServeHTTP(httptest.NewRecorder(), r.WithContext(mcp.WithIdentity(r.Context(), ada())))
	if len(next.requests) != 1 || mcp.IdentityFrom(next.requests[0].Context()) != nil {
		t.Errorf("got %d requests, want one without an identity", len(next.requests))
	}
}

func TestAuthenticateChecksHostAndOriginOfAServerFirst(t *testing.T) {
	t.Parallel()
	h := mcpauth.Authenticate(func(*http.Request) (*mcp.Identity, error) {
		t.Error("the function was called for a foreign host")
		return ada(), nil
	})(mcpserver.New("a", "1", nil).HTTPHandler())
	server := httptest.NewServer(h)
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "evil.example.com"
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("got %s, want 403", response.Status)
	}
}

func TestAuthenticateWithoutFunctionOrHandlerPanics(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(){
		"function":  func() { mcpauth.Authenticate(nil) },
		"handler":   func() { mcpauth.Authenticate(func(*http.Request) (*mcp.Identity, error) { return nil, nil })(nil) },
		"challenge": func() { _ = mcpauth.Challenge("Basic\r\nX: y", nil) },
		"empty":     func() { _ = mcpauth.Challenge("", nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: got no panic, want one", name)
				}
			}()
			f()
		}()
	}
}
