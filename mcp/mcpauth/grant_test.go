package mcpauth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/dpop"
	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

const accessBody = `{"access_token":"access","token_type":"Bearer","expires_in":60,"refresh_token":"useless"}`

// requestOver returns what a grant is given of the authorization server.
func requestOver(w wire) *grantRequest {
	return &grantRequest{
		HTTP: &http.Client{Transport: w}, Issuer: heldKey.Issuer, TokenURL: heldKey.Issuer + "/token",
		Resource: heldKey.Resource, Account: heldKey.Account, Scopes: []string{"files:read"},
	}
}

func activate(t *testing.T, g Grant) activeGrant {
	t.Helper()
	m, err := g.activate()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func wantForm(t *testing.T, got url.Values, want map[string]string) {
	t.Helper()
	flat := make(map[string]string)
	for name, values := range got {
		flat[name] = strings.Join(values, "|")
	}
	if !maps.Equal(flat, want) {
		t.Errorf("got form %v, want %v", flat, want)
	}
}

func wantAcquired(t *testing.T, m activeGrant, r *grantRequest) {
	t.Helper()
	g, err := m.acquire(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if g.key() != heldKey || g.Access != "access" || g.Refresh != "" || g.Expires.IsZero() {
		t.Errorf("got %+v", g)
	}
}

func TestClientCredentialsBySecret(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-397", "R-168a", "G-i")
	m := activate(t, &ClientCredentials{Issuer: heldKey.Issuer, ID: "app", Secret: "p:w", Scopes: []string{"files:read", "more"}})
	for _, supported := range [][]string{nil, {"client_secret_basic", "client_secret_post"}, {"client_secret_post"}} {
		var form url.Values
		var header string
		r := requestOver(func(r *http.Request, f url.Values) (int, string) {
			form, header = f, r.Header.Get("Authorization")
			return 200, accessBody
		})
		r.AuthMethods = supported
		wantAcquired(t, m, r)
		want := map[string]string{"grant_type": "client_credentials", "resource": heldKey.Resource, "scope": "files:read more"}
		wantHeader := "Basic YXBwOnAlM0F3"
		if len(supported) == 1 {
			want["client_id"], want["client_secret"], wantHeader = "app", "p:w", ""
		}
		wantForm(t, form, want)
		if header != wantHeader {
			t.Errorf("got Authorization %q, want %q", header, wantHeader)
		}
	}
}

func TestClientCredentialsByKey(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-397")
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	m := activate(t, &ClientCredentials{Issuer: heldKey.Issuer, ID: "app", Key: &PrivateKey{Signer: key}})
	wantAcquired(t, m, requestOver(func(_ *http.Request, form url.Values) (int, string) {
		var claims assertionPayload
		readSigned(t, form.Get("client_assertion"), key.Public(), &claims)
		if claims.Issuer != "app" || claims.Audience != heldKey.Issuer {
			t.Errorf("got %+v", claims)
		}
		form.Del("client_assertion")
		wantForm(t, form, map[string]string{
			"grant_type": "client_credentials", "resource": heldKey.Resource, "scope": "files:read", "client_id": "app",
			"client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
		})
		return 200, accessBody
	}))
}

func idToken(context.Context) (Secret, error) { return "id-token", nil }

func TestEnterpriseExchangesTheTokenFirst(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-399", "R-402")
	var exchanged, asked url.Values
	provider := wire(func(r *http.Request, form url.Values) (int, string) {
		exchanged = form
		if got := r.URL.String(); got != "https://idp.example/token" {
			t.Errorf("exchange at %s", got)
		}
		return 200, `{"access_token":"jag","issued_token_type":"urn:ietf:params:oauth:token-type:id-jag","token_type":"N_A"}`
	})
	e := &Enterprise{
		Issuer: heldKey.Issuer, ID: "app", Secret: "secret", IDToken: idToken,
		Provider: IdentityProvider{Issuer: "https://idp.example", TokenURL: "https://idp.example/token", ID: "at-idp", HTTP: &http.Client{Transport: provider}},
	}
	r := requestOver(func(r *http.Request, form url.Values) (int, string) {
		asked = form
		if id, secret, _ := r.BasicAuth(); id != "app" || secret != "secret" {
			t.Errorf("got client %q", id)
		}
		return 200, accessBody
	})
	r.Profiles = []string{"x", "urn:ietf:params:oauth:grant-profile:id-jag"}
	wantAcquired(t, activate(t, e), r)
	wantForm(t, exchanged, map[string]string{
		"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
		"subject_token": "id-token", "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
		"audience": heldKey.Issuer, "resource": heldKey.Resource, "scope": "files:read", "client_id": "at-idp",
	})
	wantForm(t, asked, map[string]string{
		"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": "jag", "resource": heldKey.Resource, "scope": "files:read",
	})
	asked, exchanged = nil, nil
	r.Profiles = []string{"x"}
	if _, err := activate(t, e).acquire(t.Context(), r); err == nil || asked != nil || exchanged != nil {
		t.Errorf("a server without the profile: got %v", err)
	}
}

func TestEnterpriseForwardsNoOtherToken(t *testing.T) {
	t.Parallel()
	for _, issued := range []string{"", "urn:ietf:params:oauth:token-type:access_token"} {
		provider := wire(func(*http.Request, url.Values) (int, string) {
			return 200, `{"access_token":"canary","issued_token_type":"` + issued + `","token_type":"Bearer"}`
		})
		m := activate(t, &Enterprise{
			Issuer: heldKey.Issuer, ID: "https://app.example/client.json", IDToken: idToken,
			Provider: IdentityProvider{Issuer: "https://idp.example", TokenURL: "https://idp.example/token", ID: "at-idp", HTTP: &http.Client{Transport: provider}},
		})
		_, err := m.acquire(t.Context(), requestOver(func(*http.Request, url.Values) (int, string) {
			t.Error("the token was sent")
			return 200, accessBody
		}))
		if err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("got %v", err)
		}
	}
}

func TestWorkloadSendsItsAssertion(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var form url.Values
	r := requestOver(func(r *http.Request, f url.Values) (int, string) {
		form = f
		if h := r.Header.Get("Authorization"); h != "" {
			t.Errorf("got Authorization %q", h)
		}
		return 200, accessBody
	})
	m := activate(t, &Workload{Issuer: heldKey.Issuer, ID: "app", Assertion: AssertionFile(path)})
	for _, assertion := range []string{"first", "second"} {
		write(assertion + "\n")
		wantAcquired(t, m, r)
		wantForm(t, form, map[string]string{
			"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": assertion, "client_id": "app",
			"resource": heldKey.Resource, "scope": "files:read",
		})
	}
	for _, bad := range []string{"", strings.Repeat("x", maxAssertion+1)} {
		write(bad)
		if _, err := m.acquire(t.Context(), r); err == nil {
			t.Errorf("a file of %d bytes: want an error", len(bad))
		}
	}
}

func TestRefusedAssertionsAreNotSentAgain(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-404")
	for _, test := range []struct {
		status int
		code   string
		final  bool
	}{{400, "invalid_grant", true}, {400, "invalid_scope", true}, {401, "unauthorized_client", true}, {400, "canary", true}, {503, "temporarily_unavailable", false}, {429, "slow_down", false}} {
		assertion, requests := Secret("canary-1"), 0
		m := activate(t, &Workload{Issuer: heldKey.Issuer, ID: "app", Assertion: func(context.Context) (Secret, error) { return assertion, nil }})
		r := requestOver(func(_ *http.Request, form url.Values) (int, string) {
			requests++
			if form.Get("grant_type") != grantJWTBearer {
				t.Errorf("%s: another grant was tried: %v", test.code, form)
			}
			return test.status, `{"error":"` + test.code + `","error_description":"canary"}`
		})
		k := &tokenSource{store: MemoryStore(), noUser: true, renew: func(ctx context.Context, _ grantKey, _ *grant) (*grant, error) { return m.acquire(ctx, r) }}
		for range 3 {
			if g, err := k.token(t.Context(), heldKey); g != nil || err == nil || strings.Contains(err.Error(), "canary") || errors.Is(err, ErrSignInRequired) {
				t.Errorf("%s: got %v, %v", test.code, g, err)
			}
		}
		if want := map[bool]int{true: 1, false: 3}[test.final]; requests != want {
			t.Errorf("%s: got %d requests, want %d", test.code, requests, want)
		}
		assertion, requests = "canary-2", 0
		if _, err := k.token(t.Context(), heldKey); err == nil || requests != 1 {
			t.Errorf("%s: the next assertion: got %d requests, want 1", test.code, requests)
		}
	}
}

// grants returns one of each kind, in which everything secret is the canary.
func grants(t *testing.T, provider wire) map[string]Grant {
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	secret := func(context.Context) (Secret, error) { return "canary-assertion", nil }
	idp := IdentityProvider{Issuer: "https://idp.example", TokenURL: "https://idp.example/token", ID: "app", Secret: "canary-idp", HTTP: &http.Client{Transport: provider}}
	return map[string]Grant{
		"secret":     &ClientCredentials{Issuer: heldKey.Issuer, ID: "app", Secret: "canary-secret"},
		"key":        &ClientCredentials{Issuer: heldKey.Issuer, ID: "app", Key: &PrivateKey{Signer: key}},
		"enterprise": &Enterprise{Issuer: heldKey.Issuer, ID: "app", Secret: "canary-secret", IDToken: secret, Provider: idp},
		"workload":   &Workload{Issuer: heldKey.Issuer, ID: "app", Assertion: secret},
	}
}

func TestGrantsOfOtherServersAreNotSent(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-165", "R-175b")
	never := wire(func(r *http.Request, _ url.Values) (int, string) {
		t.Errorf("a request was sent to %s", r.URL)
		return 200, accessBody
	})
	for name, g := range grants(t, never) {
		m := activate(t, g)
		for _, issuer := range []string{"https://evil.example", "https://as.example//", "https://AS.example/", ""} {
			r := requestOver(never)
			r.Issuer = issuer
			if _, err := m.acquire(t.Context(), r); err == nil || !strings.Contains(err.Error(), heldKey.Issuer) {
				t.Errorf("%s at %q: got %v, want an error that names both", name, issuer, err)
			}
		}
	}
}

func TestErrorsOfGrantsContainNoSecrets(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-399")
	// Whatever was sent comes back, in each place where an answer has one.
	echo := func(r *http.Request, form url.Values) string {
		return strings.NewReplacer(`"`, ``, `\`, ``, "\n", " ").Replace(form.Encode() + fmt.Sprint(r.Header))
	}
	for place, answer := range map[string]wire{
		"code": func(r *http.Request, f url.Values) (int, string) { return 400, `{"error":"` + echo(r, f) + `"}` },
		"description": func(r *http.Request, f url.Values) (int, string) {
			return 400, `{"error":"invalid_client","error_description":"` + echo(r, f) + `"}`
		},
		"body": func(r *http.Request, f url.Values) (int, string) { return 500, echo(r, f) },
		"token type": func(r *http.Request, f url.Values) (int, string) {
			return 200, `{"access_token":"canary","token_type":"` + echo(r, f) + `"}`
		},
		"lifetime": func(r *http.Request, f url.Values) (int, string) {
			return 200, `{"access_token":"canary","token_type":"Bearer","expires_in":"` + echo(r, f) + `"}`
		},
		"no JSON":  func(r *http.Request, f url.Values) (int, string) { return 200, echo(r, f) },
		"redirect": func(*http.Request, url.Values) (int, string) { return 307, "" },
	} {
		for name, g := range grants(t, answer) {
			_, err := activate(t, g).acquire(t.Context(), requestOver(answer))
			if err == nil {
				t.Fatalf("%s in the %s: want an error", name, place)
			}
			for _, printed := range []string{err.Error(), fmt.Sprintf("%+v %#v", err, err), fmt.Sprintf("%+v %#v %s", g, g, g)} {
				if strings.Contains(printed, "canary") || strings.Contains(printed, "Basic ") {
					t.Errorf("%s in the %s: %s", name, place, printed)
				}
			}
		}
	}
}

func TestIncompleteGrantsNameTheMissingField(t *testing.T) {
	t.Parallel()
	key := new(PrivateKey)
	for want, g := range map[string]Grant{
		"client credentials: Issuer":                           &ClientCredentials{ID: "app", Secret: "s"},
		"client credentials: want the ID":                      &ClientCredentials{Issuer: "https://as.example", Secret: "s"},
		"client credentials: want a Secret or":                 &ClientCredentials{Issuer: "https://as.example", ID: "app"},
		"client credentials: want a Secret or a Key, not both": &ClientCredentials{Issuer: "https://as.example", ID: "app", Secret: "s", Key: key},
		"client credentials: private key: want":                &ClientCredentials{Issuer: "https://as.example", ID: "app", Key: key},
		"http":                                                 &ClientCredentials{Issuer: "http://as.example", ID: "app", Secret: "s"},
		"authorization: want IDToken":                          &Enterprise{Issuer: "https://as.example", ID: "app"},
		"provider: TokenURL":                                   &Enterprise{Issuer: "https://as.example", ID: "app", IDToken: idToken},
		"provider: Issuer":                                     &Enterprise{Issuer: "https://as.example", ID: "app", IDToken: idToken, Provider: IdentityProvider{TokenURL: "https://idp.example/token"}},
		"workload identity: want Assertion":                    &Workload{Issuer: "https://as.example", ID: "app"},
	} {
		if _, err := g.activate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestClientCredentialsNeedNoUser(t *testing.T) {
	t.Parallel()
	requests := 0
	m := activate(t, &ClientCredentials{Issuer: heldKey.Issuer, ID: "app", Secret: "s"})
	n := new(dpop.Nonces)
	r := requestOver(func(r *http.Request, _ url.Values) (int, string) {
		requests++
		if r.Header.Get("DPoP") == "" {
			t.Error("want a proof")
		}
		return 200, fmt.Sprintf(`{"access_token":"access-%d","token_type":"DPoP"}`, requests)
	})
	r.Prover = testProver(t, n)
	k := &tokenSource{store: MemoryStore(), noUser: true, renew: func(ctx context.Context, _ grantKey, _ *grant) (*grant, error) { return m.acquire(ctx, r) }}
	wantToken(t, k, "access-1")
	wantToken(t, k, "access-1")
	if err := k.rejected(t.Context(), heldKey, "access-1"); err != nil {
		t.Fatal(err)
	}
	wantToken(t, k, "access-2")
	g, err := k.token(t.Context(), heldKey)
	if err != nil {
		t.Fatal(err)
	}
	p, err := g.prover(n)
	if err != nil || g.Type != oauth.TypeDPoP || p.Thumbprint() != r.Prover.Thumbprint() {
		t.Errorf("got %+v, %v, want the key with the token", g, err)
	}
	if err := k.forget(t.Context(), heldKey); err != nil {
		t.Fatal(err)
	}
	wantToken(t, k, "access-3")
}

func TestScopesAreJoined(t *testing.T) {
	t.Parallel()
	first := append(make([]string, 0, 4), "a", "b")
	if got := union(first, []string{"b", "c"}); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("got %v", got)
	}
	if first[:3][2] != "" {
		t.Error("the array of the caller was written to")
	}
}
