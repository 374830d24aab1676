package mcpauth_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpauth"
)

// manual returns options of a client that signs in when it is told to.
func (r *realm) manual() *mcpauth.ClientOptions {
	o := r.options()
	o.ManualSignIn, o.Store = true, mcpauth.MemoryStore()
	return o
}

func TestManualSignInOpensNoBrowserBeforeSignIn(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	r.challenge += `, scope="read"`
	c := mcpauth.NewClient(r.manual())
	if err := r.fails(c, `with the scopes "read"`); !errors.Is(err, mcpauth.ErrSignInRequired) {
		t.Errorf("got %v, want ErrSignInRequired", err)
	}
	if len(r.clients)+len(r.asked)+len(r.forms) != 0 {
		t.Errorf("the authorization server was bothered: %s", r.took())
	}
	if err := c.SignIn(t.Context(), r.mcp(), "write"); err != nil {
		t.Fatal(err)
	}
	if got := r.asked[0].Get("scope"); got != "write read" {
		t.Errorf("asked for %q, want what the server and the caller want", got)
	}
	r.succeeds(c)
}

func TestSignInIsRepeatedWithWhatWasAskedBefore(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	c := mcpauth.NewClient(r.manual())
	for _, scope := range []string{"a", "b"} {
		if err := c.SignIn(t.Context(), r.mcp(), scope); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.asked[1].Get("scope"); got != "a b" {
		t.Errorf("asked for %q, want the scopes of both", got)
	}
}

// A gateway in front of the server answers only those that have its key.
func TestHeadersOfTheServerAreSentToItsOriginAlone(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	r.challenge = "Bearer"
	var keys []string
	gateway := func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("X-Key") == "" || req.Header.Get("Authorization") != "" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		keys = append(keys, req.Header.Get("X-Key"))
		r.serveResource(w, req)
	}
	r.lies = map[string]http.HandlerFunc{"/mcp": gateway, "/.well-known/oauth-protected-resource/mcp": gateway}
	if err := mcpauth.NewClient(r.manual()).SignIn(t.Context(), r.mcp()); !errors.Is(err, mcpauth.ErrNoMetadata) {
		t.Errorf("got %v without the key, want ErrNoMetadata", err)
	}
	o := r.manual()
	o.ServerHeader = map[string]http.Header{r.mcp() + "/": {"X-Key": {"gateway-key"}, "Authorization": {"Basic gateway-key"}}}
	c := mcpauth.NewClient(o)
	o.ServerHeader[r.mcp()+"/"].Set("X-Key", "changed later")
	r.heardByServer.Reset()
	if err := c.SignIn(t.Context(), r.mcp()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"gateway-key", "gateway-key", "gateway-key"}; !slices.Equal(keys, want) { // GET, POST, metadata
		t.Errorf("the server got %q, want %q: the header of the options as they were", keys, want)
	}
	if strings.Contains(r.heardByIssuer.String(), "gateway-key") || strings.Count(r.heardByServer.String(), "gateway-key") != len(keys) {
		t.Errorf("the header went further than to the server:\n%s\n%s", &r.heardByServer, &r.heardByIssuer)
	}
	r.challenge = `Bearer resource_metadata="` + r.issuer.URL + `/prm"`
	_ = c.SignIn(t.Context(), r.mcp())
	if !strings.Contains(r.heardByIssuer.String(), "GET /prm") || strings.Contains(r.heardByIssuer.String(), "gateway-key") {
		t.Errorf("the header went to another origin that the server names:\n%s", &r.heardByIssuer)
	}
}

func TestMissingScopesAreLeftToSignIn(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	o := r.manual()
	c := mcpauth.NewClient(o)
	if err := c.SignIn(t.Context(), r.mcp()); err != nil {
		t.Fatal(err)
	}
	r.needs = []string{"write"}
	err := r.fails(c, `with the scopes "write"`)
	if e, ok := errors.AsType[*mcpauth.SignInError](err); !errors.Is(err, mcpauth.ErrSignInRequired) || !ok || !slices.Equal(e.MissingScopes, []string{"write"}) {
		t.Errorf("got %#v, want ErrSignInRequired with the scope", err)
	}
	if len(r.asked) != 1 {
		t.Errorf("the user was asked %d times, want once", len(r.asked))
	}
	missing := func(want ...string) {
		t.Helper()
		if held, err := mcpauth.NewClient(o).Status(t.Context(), r.mcp()); err != nil || !slices.Equal(held.MissingScopes, want) {
			t.Errorf("got %+v, %v, want %q missing, for another process, too", held, err, want)
		}
	}
	missing("write")
	if err := c.SignIn(t.Context(), r.mcp()); err != nil {
		t.Fatal(err)
	}
	missing()
}

// Two clients with one Store are two processes.
func TestSignInAndSignOutOfAnotherProcessCount(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	o := r.manual()
	other := mcpauth.NewClient(o)
	c := mcpauth.NewClient(o)
	for range 2 {
		r.fails(c, "sign-in required")
		if err := other.SignIn(t.Context(), r.mcp()); err != nil {
			t.Fatal(err)
		}
		r.succeeds(c)
		if err := other.SignOut(t.Context(), r.mcp()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSignInNeedsAServerThatWantsIt(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	r.resource, r.challenge = nil, "Bearer"
	c := mcpauth.NewClient(r.manual())
	for _, address := range []string{r.mcp(), "http://example.com/mcp", "mcp"} {
		err := c.SignIn(t.Context(), address)
		if _, typed := errors.AsType[*mcpauth.SignInError](err); !typed {
			t.Errorf("%s: got %v, want a *SignInError", address, err)
		}
	}
}

func TestStatusReportsStoredTokens(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	c := mcpauth.NewClient(r.manual())
	if held, err := c.Status(t.Context(), r.mcp()); held != nil || err != nil {
		t.Errorf("got %+v, %v before the sign-in", held, err)
	}
	if err := c.SignIn(t.Context(), r.mcp(), "read"); err != nil {
		t.Fatal(err)
	}
	held, err := c.Status(t.Context(), r.mcp())
	if err != nil {
		t.Fatal(err)
	}
	if held.Issuer != r.issuer.URL || held.Resource != r.mcp() || held.ClientID != "client-1" || !slices.Equal(held.Scopes, []string{"read"}) || !held.Usable || !held.Renewable {
		t.Errorf("got %+v", held)
	}
	if left := time.Until(held.Expires); left <= 0 || left > time.Hour {
		t.Errorf("ends in %v, want within the hour", left)
	}
	if held, err := c.Status(t.Context(), r.server.URL+"/other"); held != nil || err != nil {
		t.Errorf("got %+v, %v of another server", held, err)
	}
}

func TestSignOutDeletesAndRevokesTokens(t *testing.T) {
	t.Parallel()
	for name, keeps := range map[string]bool{"revoked": false, "refused": true} {
		r := newRealm(t)
		r.keeps = keeps
		r.metadata["/.well-known/oauth-authorization-server"]["revocation_endpoint"] = r.issuer.URL + "/revoke"
		c := mcpauth.NewClient(r.manual())
		if err := c.SignIn(t.Context(), r.mcp()); err != nil {
			t.Fatal(err)
		}
		err := c.SignOut(t.Context(), r.mcp())
		if (err != nil) != keeps || keeps && (!strings.Contains(err.Error(), "but not revoked") || strings.Contains(err.Error(), "CANARY")) {
			t.Errorf("%s: got %v", name, err)
		}
		if len(r.revoked) != 1 || r.revoked[0].Get("token") != "CANARY-refresh-1" || r.revoked[0].Get("token_type_hint") != "refresh_token" || r.revoked[0].Get("client_id") != "client-1" {
			t.Errorf("%s: got %v", name, r.revoked)
		}
		if held, err := c.Status(t.Context(), r.mcp()); held != nil || err != nil {
			t.Errorf("%s: still holds %+v, %v", name, held, err)
		}
		r.fails(c, "sign-in required")
		if err := c.SignOut(t.Context(), r.mcp()); err != nil {
			t.Errorf("%s: without a token: %v", name, err)
		}
	}
}

func TestSignInRenewsAClientCredentialsToken(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	o := r.options()
	r.metadata["/.well-known/oauth-authorization-server"]["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic"}
	o.Grant = &mcpauth.ClientCredentials{Issuer: r.issuer.URL, ID: "robot", Secret: "CANARY-secret"}
	c := mcpauth.NewClient(o)
	for range 2 {
		if err := c.SignIn(t.Context(), r.mcp()); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.forms) != 2 || len(r.asked) != 0 {
		t.Errorf("%d token requests and %d users asked, want 2 and none", len(r.forms), len(r.asked))
	}
	r.succeeds(c)
	if err := c.SignOut(t.Context(), r.mcp()); err != nil {
		t.Error(err)
	}
	if status, err := r.call(c); status != http.StatusOK || err != nil {
		t.Errorf("got %d, %v, want a token of its own accord", status, err)
	}
}
