package mcpauth_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpauth"
)

// deviation is one way in which authorization servers deviate from the standards, or in which
// servers describe theirs. docs/compatibility.md has a line of the same name for each.
type deviation struct {
	name string
	// is sets the switches of the stand-in, and what its client is configured with.
	is func(h *hostile)
	// login makes the user sign in with SignIn before the first call.
	login bool
	// then, if not nil, is what changes after the first call, before a second one in a later run.
	then func(h *hostile)
	// want is what the error says; empty: the user is signed in, and the call succeeds.
	want string
	// cause is what the error is, if there is one to ask for.
	cause error
	// sent are requests that were sent in this order, others may be between them; once are
	// requests that were sent once, and never those that were not sent.
	sent, once, never []string
}

// expire ends all access tokens, so that the second call has to renew its own.
func expire(h *hostile) { h.kill(false) }

// spell makes the metadata of the issuer name it in its other spelling.
func spell(h *hostile) {
	h.kill(false)
	slash(h)
}

// slash makes the issuer name itself with the slash, in its metadata and its responses.
func slash(h *hostile) {
	h.serverMetadata()["issuer"] = h.issuer.URL + "/"
	h.respond = func(response url.Values) { response["iss"][0] += "/" }
}

const openIDPlace = "/.well-known/openid-configuration"

// second gives the issuer a second document, at the OpenID place, and changes the first one.
func (h *hostile) second(first, second members) {
	h.metadata[openIDPlace] = with(h.issuerMetadata(""), second)
	h.metadata[serverPlace] = with(h.issuerMetadata(""), first)
}

// page is a web page, as servers have it that answer every GET with their application.
func page(status int) http.HandlerFunc {
	return answers(status, "<!doctype html><title>BANNER</title>", "Content-Type", "text/html; charset=utf-8")
}

// deviations are the rows of the table.
var deviations = []deviation{
	{
		name: "issuer-slash-metadata",
		is:   slash,
		then: expire,
		sent: []string{"AS POST /register", "AS POST /token", "AS POST /token"},
		once: []string{"AS POST /register", "AS GET /authorize"},
	},
	{
		name: "issuer-slash-resource",
		is:   func(h *hostile) { h.resource["/prm"]["authorization_servers"] = []string{h.issuer.URL + "/"} },
		then: expire,
		sent: []string{"AS POST /register", "AS POST /token", "AS POST /token"},
		once: []string{"AS POST /register", "AS GET /authorize"},
	},
	{
		name: "issuer-slash-later",
		is:   func(*hostile) {},
		then: spell,
		sent: []string{"AS POST /register", "AS POST /token", "AS POST /token"},
		once: []string{"AS POST /register", "AS GET /authorize"},
	},
	{
		name: "issuer-slash-later-refused",
		is:   func(*hostile) {},
		then: func(h *hostile) {
			h.kill(true)
			slash(h)
			h.options.RedirectURL = h.asked[0].Get("redirect_uri") // the port and path of the registration
		},
		sent: []string{"AS GET /authorize", "AS POST /token", "AS GET /authorize", "AS POST /token"},
		once: []string{"AS POST /register"},
	},
	{
		name: "issuer-slash-response",
		is:   func(h *hostile) { h.respond = func(response url.Values) { response["iss"][0] += "/" } },
		want: "it names another issuer: found",
		sent: []string{"AS GET /authorize"}, never: []string{"AS POST /token"},
	},
	{
		name: "issuer-slash-configured",
		is: func(h *hostile) {
			h.options.Registered = []mcpauth.Registration{{Issuer: h.issuer.URL + "/", ID: "by-hand", Secret: "CANARY-secret"}}
		},
		then:  spell,
		sent:  []string{"AS POST /token", "AS POST /token"},
		once:  []string{"AS GET /authorize"},
		never: []string{"AS POST /register"},
	},
	{
		name: "issuer-slash-machine",
		is: func(h *hostile) {
			h.options.Grant = &mcpauth.ClientCredentials{Issuer: h.issuer.URL + "/", ID: "robot", Secret: "CANARY-secret"}
		},
		then:  spell,
		sent:  []string{"AS POST /token", "AS POST /token"},
		never: []string{"AS GET /authorize"},
	},
	{
		name: "issuer-slash-of-path",
		is: func(h *hostile) {
			h.metadata = map[string]members{serverPlace + "/t": with(h.issuerMetadata("/t"), members{"issuer": h.issuer.URL + "/t/"})}
			h.resource["/prm"]["authorization_servers"] = []string{h.issuer.URL + "/t"}
		},
		want:  `/t/", want "`,
		never: []string{"AS POST /t/register", "AS GET /t/authorize"},
	},
	{
		name: "issuer-other-in-response",
		is: func(h *hostile) {
			h.respond = func(response url.Values) { response.Set("iss", "https://sts.example/t/") }
		},
		want:  `it names another issuer: found "https://sts.example/t/", want "`,
		never: []string{"AS POST /token"},
	},
	{
		name: "metadata-without-pkce",
		is:   func(h *hostile) { h.second(members{"code_challenge_methods_supported": nil}, nil) },
		sent: []string{"AS GET " + serverPlace, "AS GET " + openIDPlace, "AS POST /register", "AS GET /authorize", "AS POST /token"},
	},
	{
		name: "metadata-without-register",
		is:   func(h *hostile) { h.second(members{"registration_endpoint": nil}, nil) },
		sent: []string{"AS GET " + serverPlace, "AS GET " + openIDPlace, "AS POST /register"},
	},
	{
		name: "metadata-without-endpoint",
		is:   func(h *hostile) { h.second(members{"authorization_endpoint": nil, "token_endpoint": nil}, nil) },
		sent: []string{"AS GET " + serverPlace, "AS GET " + openIDPlace, "AS POST /register"},
	},
	{
		name: "metadata-page",
		is:   func(h *hostile) { h.second(nil, nil); h.lies["AS "+serverPlace] = page(200) },
		sent: []string{"AS GET " + serverPlace, "AS GET " + openIDPlace, "AS POST /register"},
	},
	{
		name: "metadata-wrong-type",
		is:   func(h *hostile) { h.second(members{"scopes_supported": "a b"}, nil) },
		sent: []string{"AS GET " + serverPlace, "AS GET " + openIDPlace, "AS POST /register"},
	},
	{
		name: "metadata-other-issuer",
		is:   func(h *hostile) { h.second(members{"issuer": "https://sts.example"}, nil) },
		sent: []string{"AS GET " + serverPlace, "AS GET " + openIDPlace, "AS POST /register"},
	},
	{
		name: "metadata-halves",
		is: func(h *hostile) {
			h.second(members{"code_challenge_methods_supported": nil}, members{"registration_endpoint": nil})
		},
		want:  openIDPlace + ": the client is not registered at ",
		cause: mcpauth.ErrNotRegistered,
		sent:  []string{"AS GET " + serverPlace, "AS GET " + openIDPlace},
		never: []string{"AS POST /register", "AS GET /authorize"},
	},
	{
		name: "metadata-relative",
		is: func(h *hostile) {
			m := h.serverMetadata()
			m["authorization_endpoint"], m["token_endpoint"], m["registration_endpoint"] = "/authorize", "/token", "/register"
		},
		sent: []string{"AS POST /register", "AS GET /authorize", "AS POST /token"},
	},
	{
		name:  "metadata-relative-host",
		is:    func(h *hostile) { h.serverMetadata()["token_endpoint"] = "//" + h.stranger().address + "/token" },
		want:  `token_endpoint: URL of scheme "": want https`,
		never: []string{"AS POST /register", "AS GET /authorize"},
	},
	{
		name: "pkce-unstated",
		is: func(h *hostile) {
			h.second(members{"code_challenge_methods_supported": nil}, members{"code_challenge_methods_supported": nil})
		},
		want: "see ClientOptions.AssumePKCE",
		// No document is the first of the two that could be used.
		cause: mcpauth.ErrNoMetadata,
		never: []string{"AS POST /register", "AS GET /authorize"},
	},
	{
		name: "pkce-unstated-allowed",
		is: func(h *hostile) {
			h.second(members{"code_challenge_methods_supported": nil}, members{"code_challenge_methods_supported": nil})
			h.options.AssumePKCE = []string{h.mcp() + "/"}
		},
		sent: []string{"AS POST /register", "AS GET /authorize", "AS POST /token"},
	},
	{
		name: "pkce-unstated-other",
		is: func(h *hostile) {
			h.serverMetadata()["code_challenge_methods_supported"] = nil
			h.options.AssumePKCE = []string{"https://other.example/mcp", h.server.URL}
		},
		want:  "does not say that it supports PKCE",
		never: []string{"AS POST /register", "AS GET /authorize"},
	},
	{
		name: "pkce-plain",
		is: func(h *hostile) {
			h.serverMetadata()["code_challenge_methods_supported"] = []string{"plain"}
			h.options.AssumePKCE = []string{h.mcp()}
		},
		want:  "code_challenge_methods_supported has other methods",
		never: []string{"AS POST /register", "AS GET /authorize"},
	},
	{
		name: "challenge-relative",
		is:   func(h *hostile) { h.challenge = `Bearer resource_metadata="/prm"`; delete(h.resource, pathPlace) },
		sent: []string{"GET /prm", "AS POST /token"},
	},
	{
		name:  "challenge-relative-host",
		is:    func(h *hostile) { h.challenge = `Bearer resource_metadata="//` + h.stranger().address + `/prm"` },
		want:  `resource_metadata of the challenge: URL of scheme "": want https`,
		never: []string{"AS GET " + serverPlace},
	},
	{
		name: "challenge-on-post-only",
		is: func(h *hostile) {
			delete(h.resource, pathPlace)
			h.lies["/mcp"] = func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					http.Error(w, "BANNER", http.StatusMethodNotAllowed)
					return
				}
				h.serveResource(w, r)
			}
		},
		login: true,
		sent:  []string{"GET /mcp", "POST /mcp", "GET /prm", "AS POST /token", "POST /mcp"},
		once:  []string{"AS GET /authorize"},
	},
	{
		name: "challenge-to-nothing",
		is:   func(h *hostile) { h.challenge = `Bearer resource_metadata="` + h.server.URL + `/gone"` },
		sent: []string{"GET /gone", "GET " + pathPlace, "AS POST /token"},
	},
	{
		name: "challenge-to-a-page",
		is:   func(h *hostile) { h.lies["/prm"] = page(200) },
		sent: []string{"GET /prm", "GET " + pathPlace, "AS POST /token"},
	},
	{
		name: "challenge-other-resource",
		is: func(h *hostile) {
			h.resource["/prm"] = with(h.resource["/prm"], members{"resource": "https://other.example/mcp"})
		},
		want:  `resource "https://other.example/mcp": want https://127.0.0.1:`,
		never: []string{"GET " + pathPlace, "AS GET " + serverPlace},
	},
	{
		name: "resource-without-issuers",
		is: func(h *hostile) {
			h.challenge = "Bearer"
			h.resource = map[string]members{
				pathPlace: {"resource": h.mcp()},
				rootPlace: with(h.resource["/prm"], members{"resource": h.server.URL + "/"}),
			}
		},
		sent: []string{"GET " + pathPlace, "GET " + rootPlace, "AS POST /token"},
	},
	{
		name: "resource-page",
		is: func(h *hostile) {
			h.challenge = "Bearer"
			h.lies[pathPlace], h.lies[rootPlace] = page(200), page(404)
		},
		want:  pathPlace + ": response is not JSON but a web page: want Content-Type application/json; https://127.0.0.1:",
		cause: mcpauth.ErrNoMetadata,
		sent:  []string{"GET " + pathPlace, "GET " + rootPlace},
		never: []string{"AS GET " + serverPlace},
	},
	{
		name: "token-200-error",
		is: func(h *hostile) {
			h.lies["AS /token"] = answers(200, `{"error":"invalid_grant","access_token":"BANNER","token_type":"bearer"}`)
		},
		want:  "token endpoint: refused: invalid_grant",
		sent:  []string{"AS POST /token"},
		never: []string{"POST /mcp"},
	},
	{
		name: "token-200-error-object",
		is:   func(h *hostile) { h.lies["AS /token"] = answers(200, `{"error":{"code":400,"message":"BANNER"}}`) },
		want: "token endpoint: refused with HTTP status 200",
		once: []string{"AS POST /token"},
	},
	{
		name: "token-200-not-ok",
		is:   func(h *hostile) { h.lies["AS /token"] = answers(200, `{"ok":false}`) },
		want: "token endpoint: refused with HTTP status 200",
		once: []string{"AS POST /token"},
	},
	{
		name: "token-201",
		is: func(h *hostile) {
			h.lies["AS /token"] = func(w http.ResponseWriter, r *http.Request) { h.serveIssuer(&changedResponse{w, 201, ""}, r) }
		},
		sent: []string{"AS POST /token"},
	},
	{
		name: "token-error-null",
		is: func(h *hostile) {
			h.lies["AS /token"] = func(w http.ResponseWriter, r *http.Request) {
				h.serveIssuer(&changedResponse{w, 200, `"ok":true,"error":null,`}, r)
			}
		},
		sent: []string{"AS POST /token"},
	},
	{
		name: "token-form",
		is: func(h *hostile) {
			h.lies["AS /token"] = answers(200, "access_token=BANNER&token_type=bearer", "Content-Type", "application/x-www-form-urlencoded")
		},
		want: "token endpoint: response is form-encoded: want JSON",
		once: []string{"AS POST /token"},
	},
	{
		name: "register-200-error",
		is: func(h *hostile) {
			h.register = func(client members) (int, members) {
				if client["application_type"] == "native" {
					return 200, members{"ok": false, "error": "invalid_redirect_uri"}
				}
				return 200, members{"client_id": "second"}
			}
		},
		sent: []string{"AS POST /register", "AS POST /register", "AS GET /authorize", "AS POST /token"},
	},
	{
		name: "scope-commas",
		is: func(h *hostile) {
			h.needs = []string{"a", "b"}
			h.challenge = strings.Replace(h.challenge, "Bearer ", `Bearer scope="a,b", `, 1)
		},
		once: []string{"AS GET /authorize"},
		sent: []string{"AS POST /token"},
	},
	{
		name: "client-forgotten-page",
		is:   func(*hostile) {},
		then: func(h *hostile) {
			h.kill(true)
			h.forgot = []string{"client-1"}
			h.cancelledSignIn()
		},
		sent: []string{"AS POST /register", "AS POST /token", "AS GET /authorize", "AS POST /register", "AS GET /authorize", "AS POST /token"},
	},
	{
		name: "client-forgotten-refresh",
		is:   func(*hostile) {},
		then: func(h *hostile) { h.kill(false); h.forgot = []string{"client-1"} },
		sent: []string{"AS POST /register", "AS POST /token", "AS POST /token", "AS POST /register", "AS GET /authorize", "AS POST /token"},
	},
	{
		name: "client-forgotten-code",
		is:   func(*hostile) {},
		then: func(h *hostile) {
			h.kill(true)
			h.lies["AS /token"] = answers(401, `{"error":"invalid_client"}`)
			_ = h.calls()
			delete(h.lies, "AS /token")
		},
		sent: []string{"AS POST /register", "AS POST /token", "AS GET /authorize", "AS POST /token", "AS POST /register", "AS GET /authorize", "AS POST /token"},
	},
	{
		name: "refresh-refused",
		is:   func(*hostile) {},
		then: func(h *hostile) {
			h.kill(false)
			h.options.ManualSignIn, h.client = true, nil
			h.lies["AS /token"] = answers(400, `{"error":"token_revoked"}`)
			_ = h.calls()
			delete(h.lies, "AS /token") // the refresh token is not sent again
		},
		want:  "sign-in required at ",
		cause: mcpauth.ErrSignInRequired,
		sent:  []string{"AS POST /token", "AS POST /token"},
		once:  []string{"AS GET /authorize"},
	},
	{
		name: "refresh-200-error",
		is:   func(*hostile) {},
		then: func(h *hostile) {
			h.kill(false)
			h.options.ManualSignIn = true
			h.lies["AS /token"] = answers(200, `{"ok":false,"error":"invalid_refresh_token"}`)
		},
		want:  "sign-in required at ",
		cause: mcpauth.ErrSignInRequired,
		once:  []string{"AS GET /authorize"},
	},
	{
		name: "refresh-page",
		is:   func(*hostile) {},
		then: func(h *hostile) {
			h.kill(false)
			h.lies["AS /token"] = page(403)
			_ = h.calls()
			delete(h.lies, "AS /token")
		},
		sent: []string{"AS POST /token", "AS POST /token", "AS POST /token"},
		once: []string{"AS GET /authorize"},
	},
	{
		name:  "scope-refused-later",
		is:    func(h *hostile) { h.options.ManualSignIn = true },
		login: true,
		then: func(h *hostile) {
			h.needs = []string{"reports:write"}
			for range 3 { // each says that a sign-in is required, and not that it was in vain
				if err := h.ends("with the scopes \"reports:write\""); !errors.Is(err, mcpauth.ErrSignInRequired) {
					h.tb.Errorf("got %v, want %v", err, mcpauth.ErrSignInRequired)
				}
			}
			h.client = mcpauth.NewClient(h.options) // another process, without --scope
			if err := h.client.SignIn(h.tb.Context(), h.mcp()); err != nil || h.asked[1].Get("scope") != "reports:write" {
				h.tb.Errorf("got %v, requested %q", err, h.asked[1].Get("scope"))
			}
		},
		sent: []string{"AS GET /authorize", "AS GET /authorize", "AS POST /token"},
	},
	{
		name:  "scope-refused-always",
		is:    func(h *hostile) { h.options.ManualSignIn = true },
		login: true,
		then: func(h *hostile) {
			h.forbid = func() string { return `Bearer error="insufficient_scope", scope="reports:write"` }
			h.ends("with the scopes \"reports:write\"")
			_ = h.client.SignIn(h.tb.Context(), h.mcp())
		},
		want:  `requires the scopes "reports:write", also after they were requested`,
		cause: mcpauth.ErrDenied,
		sent:  []string{"AS GET /authorize", "AS GET /authorize"},
	},
	{
		name: "expires-in-0",
		is:   func(h *hostile) { h.lives = 0 },
		then: func(*hostile) {},
		once: []string{"AS GET /authorize", "AS POST /token"},
	},
}

// cancelledSignIn is a sign-in whose user sees an error page in the browser, and gives up.
func (h *hostile) cancelledSignIn() {
	ctx, cancel := context.WithCancel(h.tb.Context())
	defer cancel()
	o := *h.options
	o.Browser = func(ctx context.Context, address string) error {
		_, err := h.signIn(ctx, address)
		if cancel(); err == nil {
			h.tb.Error("the browser was redirected")
		}
		return nil
	}
	if err := mcpauth.NewClient(&o).SignIn(ctx, h.mcp()); !errors.Is(err, context.Canceled) {
		h.tb.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// TestForgottenRegistrationKeepsItsGrants has a user who gives up a sign-in at an authorization
// server that only seems to have forgotten the client: the token, and its renewal, stay as they are
// until another client has one.
func TestForgottenRegistrationKeepsItsGrants(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	h.options.Store = mcpauth.MemoryStore()
	h.works()
	h.forgot = []string{"client-1"}
	h.cancelledSignIn()
	h.forgot = nil
	h.works() // with the token
	h.kill(false)
	h.works() // with a renewed one
	if len(h.clients) != 1 || h.forms[len(h.forms)-1].Get("client_id") != "client-1" {
		t.Fatalf("got %d registrations, want one, and a refresh; requested %v", len(h.clients), h.forms)
	}
	// A sign-in that fails as well registers a client, and keeps the token of the old one.
	h.forgot = []string{"client-2"}
	h.cancelledSignIn()
	h.kill(false)
	h.works()
	if got := h.forms[len(h.forms)-1].Get("client_id"); len(h.clients) != 2 || got != "client-1" {
		t.Errorf("got %d registrations, and a refresh by %s, want that of client-1", len(h.clients), got)
	}
	if err := h.client.SignIn(t.Context(), h.mcp()); err != nil {
		t.Error(err)
	}
	h.works()
	h.kill(false)
	h.works()
	if got := h.forms[len(h.forms)-1].Get("client_id"); len(h.clients) != 3 || got != "client-3" {
		t.Errorf("got %d registrations, and a refresh by %s, want that of client-3", len(h.clients), got)
	}
	h.secretsStay()
}

// TestSignOutRemovesAForgottenRegistration has one that never had a token, and one that had.
func TestSignOutRemovesAForgottenRegistration(t *testing.T) {
	t.Parallel()
	for _, signedIn := range []bool{false, true} {
		h := newHostile(t)
		store := &namingStore{Store: mcpauth.MemoryStore()}
		h.options.Store = store
		if signedIn {
			h.works()
		}
		h.forgot = []string{"client-1"}
		h.cancelledSignIn()
		if err := mcpauth.NewClient(h.options).SignOut(t.Context(), h.mcp()); err != nil {
			t.Error(err)
		}
		for _, key := range store.names() {
			if value, err := store.Load(t.Context(), key); value != nil || err != nil {
				t.Errorf("signed in %v: %s still has a value, %v", signedIn, key, err)
			}
		}
		h.works()
	}
	// A registration that works is kept.
	h := newHostile(t)
	h.options.Store = mcpauth.MemoryStore()
	h.works()
	if err := h.client.SignOut(t.Context(), h.mcp()); err != nil {
		t.Error(err)
	}
	if h.works(); len(h.clients) != 1 {
		t.Errorf("got %d registrations, want one", len(h.clients))
	}
}

// namingStore remembers its keys.
type namingStore struct {
	mcpauth.Store

	mu   sync.Mutex
	keys map[string]bool
}

func (s *namingStore) Update(ctx context.Context, key string, change func([]byte) ([]byte, error)) error {
	s.mu.Lock()
	if s.keys == nil {
		s.keys = make(map[string]bool)
	}
	s.keys[key] = true
	s.mu.Unlock()
	return s.Store.Update(ctx, key, change)
}

func (s *namingStore) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.keys))
}

// changedResponse is a response of the stand-in with another status, and with members before those
// of its object.
type changedResponse struct {
	http.ResponseWriter

	status  int
	members string
}

func (w *changedResponse) WriteHeader(int) { w.ResponseWriter.WriteHeader(w.status) }

func (w *changedResponse) Write(text []byte) (int, error) {
	rest, begins := bytes.CutPrefix(text, []byte("{"))
	if !begins || w.members == "" {
		return w.ResponseWriter.Write(text)
	}
	_, err := w.ResponseWriter.Write(append([]byte("{"+w.members), rest...))
	w.members = ""
	return len(text), err
}

func TestDeviationsOfAuthorizationServers(t *testing.T) {
	t.Parallel()
	for _, row := range deviations {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h := newHostile(t)
			h.options.Store = mcpauth.MemoryStore()
			row.is(h)
			err := row.begin(h)
			if row.then != nil {
				row.then(h)
				h.client = nil // a later run has nothing but what was stored
				err = h.calls()
			}
			row.judge(t, h, err)
			h.secretsStay()
		})
	}
}

// begin makes the first call, after a sign-in if the row has one.
func (row *deviation) begin(h *hostile) error {
	if row.login {
		h.client = mcpauth.NewClient(h.options)
		err := h.client.SignIn(h.tb.Context(), h.mcp())
		if h.errs = append(h.errs, err); err != nil {
			return err
		}
	}
	return h.calls()
}

// judge compares what has happened with the row.
func (row *deviation) judge(t *testing.T, h *hostile, err error) {
	t.Helper()
	log := strings.Split(h.took(), "\n")
	switch {
	case row.want == "" && err != nil:
		t.Errorf("got %v\n%s", err, strings.Join(log, "\n"))
	case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
		t.Errorf("got %v, want an error that says %q", err, row.want)
	case row.cause != nil && !errors.Is(err, row.cause):
		t.Errorf("got %v, want %v", err, row.cause)
	}
	rest := log
	for _, want := range row.sent {
		i := slices.Index(rest, want)
		if i < 0 {
			t.Fatalf("got\n%s\nwant in it, in this order\n%s", strings.Join(log, "\n"), strings.Join(row.sent, "\n"))
		}
		rest = rest[i+1:]
	}
	for _, one := range row.once {
		if n := len(slices.DeleteFunc(slices.Clone(log), func(s string) bool { return s != one })); n != 1 {
			t.Errorf("got\n%s\nwant %s once", strings.Join(log, "\n"), one)
		}
	}
	for _, bad := range row.never {
		if slices.Contains(log, bad) {
			t.Errorf("got\n%s\nwant without %s", strings.Join(log, "\n"), bad)
		}
	}
}

func TestPageDescribesEveryDeviationOfAuthorizationServers(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Authorization servers\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var described []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)` \\| .* \\| (accepted|refused) \\|").FindAllStringSubmatch(section, -1) {
		described = append(described, m[1]+" "+m[2])
	}
	var tested []string
	for _, row := range deviations {
		outcome := "accepted"
		if row.want != "" {
			outcome = "refused"
		}
		tested = append(tested, row.name+" "+outcome)
	}
	if !slices.Equal(described, tested) {
		t.Errorf("docs/compatibility.md describes\n%s\nwant\n%s", strings.Join(described, "\n"), strings.Join(tested, "\n"))
	}
}
