package mcpauth_test

import (
	"encoding/json/v2"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpauth"
)

func TestMetadataMustNameItsIssuer(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	keys := a.URL + "/keys"
	for name, document := range map[string]any{
		"another issuer":     fields{"issuer": "https://evil.example", "jwks_uri": keys},
		"two slashes more":   fields{"issuer": a.URL + "//", "jwks_uri": keys},
		"upper case":         fields{"issuer": strings.ToUpper(a.URL), "jwks_uri": keys},
		"no issuer":          fields{"jwks_uri": keys},
		"no keys":            fields{"issuer": a.URL},
		"keys over http":     fields{"issuer": a.URL, "jwks_uri": "http://id.example.com/keys"},
		"keys in a file":     fields{"issuer": a.URL, "jwks_uri": "file:///etc/passwd"},
		"keys on link-local": fields{"issuer": a.URL, "jwks_uri": "https://169.254.169.254/latest"},
		"keys in a private":  fields{"issuer": a.URL, "jwks_uri": "https://10.0.0.1/keys"},
		"a list":             []any{},
	} {
		a.answer("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) { _ = json.MarshalWrite(w, document) })
		p := a.protect(t)
		p.refuses(request("Authorization", "Bearer "+a.token(t, nil)), http.StatusServiceUnavailable, "")
		if !strings.Contains(p.log.String(), "issuer "+a.URL) {
			t.Errorf("%s: logged %s", name, p.log)
		}
	}
	if got := a.fetches.Load(); got != 0 {
		t.Errorf("keys were fetched %d times", got)
	}
}

func TestIssuersAreFoundByOpenIDDiscoveryToo(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	issuer := a.URL + "/tenant"
	a.answer("/tenant/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.MarshalWrite(w, fields{"issuer": issuer, "jwks_uri": a.URL + "/keys"})
	})
	p := newProtected(t, mcpauth.Issuer(issuer), mcpauth.RootCAs(a.roots()))
	p.passes(a.token(t, fields{"iss": issuer}))
}

func TestKeysOfAnIssuerRotate(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	p := a.protect(t)
	old := a.token(t, nil)
	p.passes(old)
	a.rotate(newSigner(t, "two"))
	p.passes(a.token(t, nil))
	p.refuses(request("Authorization", "Bearer "+old), http.StatusUnauthorized, "invalid_token")
	if got := a.fetches.Load(); got != 3 {
		t.Errorf("got %d fetches, want the first one and one for each key that was not there", got)
	}
}

func TestKeysThatAreTooManyBytesAreNotRead(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	a.answer("/keys", func(w http.ResponseWriter, _ *http.Request) {
		for range 64 {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
		t.Error("all of it was read")
	})
	p := a.protect(t)
	p.refuses(request("Authorization", "Bearer "+a.token(t, nil)), http.StatusServiceUnavailable, "")
	if !strings.Contains(p.log.String(), "exceeds 1048576 bytes") {
		t.Errorf("logged %s", p.log)
	}
}

func TestBlockedNetworksNameTheOption(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	for _, opts := range [][]mcpauth.Option{nil, {mcpauth.AllowedNetworks(netip.MustParsePrefix("10.1.0.0/16"))}} {
		p := newProtected(t, append(opts, mcpauth.IssuerKeys("https://id.example.com", "https://127.0.0.1:1/keys"))...)
		p.refuses(request("Authorization", "Bearer "+a.token(t, fields{"iss": "https://id.example.com"})), http.StatusServiceUnavailable, "")
		if !strings.Contains(p.log.String(), "want a public address, or one in the allowed prefixes (in Go: mcpauth.AllowedNetworks)") {
			t.Errorf("logged %s", p.log)
		}
	}
	p := newProtected(t, mcpauth.IssuerKeys("https://id.example.com", a.URL+"/keys"), mcpauth.RootCAs(a.roots()), mcpauth.AllowedNetworks(netip.MustParsePrefix("127.0.0.0/8")))
	p.passes(a.token(t, fields{"iss": "https://id.example.com"}))
}
