package mcpauth_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/mcpauth"
)

// forger makes tokens that look like those of an authorization server.
type forger struct {
	*authority

	tb    testing.TB
	rsa   signer // of the authorization server too
	ed    signer // of the authorization server too
	other signer // of somebody else
}

func newForger(tb testing.TB) *forger {
	tb.Helper()
	f := &forger{authority: newAuthority(tb), tb: tb, other: newSigner(tb, "one")}
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		tb.Fatal(err)
	}
	_, e, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	f.rsa, f.ed = signer{"rsa", jose.RS256, r}, signer{"ed", jose.EdDSA, e}
	f.signers = append(f.signers, f.rsa, f.ed)
	return f
}

// headed returns a token with another header.
func (f *forger) headed(change fields) string {
	return f.signers[0].sign(f.tb, changed(f.header(), change), encodeJSON(f.tb, f.claims()))
}

// raw signs any payload.
func (f *forger) raw(payload string) string {
	return f.signers[0].sign(f.tb, f.header(), []byte(payload))
}

// claimed returns a token whose claims are a good one's with more text at the end.
func (f *forger) claimed(more string) string {
	return f.raw(strings.TrimSuffix(string(encodeJSON(f.tb, f.claims())), "}") + "," + more + "}")
}

// shared signs with HMAC under a secret that everybody knows.
func (f *forger) shared(secret []byte) string {
	text := encode(encodeJSON(f.tb, fields{"alg": "HS256", "typ": "at+jwt", "kid": "rsa"})) + "." + encode(encodeJSON(f.tb, f.claims()))
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text))
	return text + "." + encode(mac.Sum(nil))
}

// reheaded replaces the header of a good token and keeps its signature.
func (f *forger) reheaded(header string) string {
	_, rest, _ := strings.Cut(f.token(f.tb, nil), ".")
	return encode([]byte(header)) + "." + rest
}

func TestForgedTokensAreRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-185", "R-192", "R-193a")
	f := newForger(t)
	p := f.protect(t)
	for name, token := range f.tokens() {
		before := t.Failed()
		w := p.refuses(request("Authorization", "Bearer "+token), http.StatusUnauthorized, "invalid_token")
		if challenge := w.Header().Get("WWW-Authenticate"); !strings.HasPrefix(challenge, "Bearer ") && !strings.HasPrefix(challenge, "DPoP ") || param(challenge, "resource_metadata") != metadataURL {
			t.Errorf("got challenge %q", challenge)
		}
		if t.Failed() && !before {
			t.Errorf("the token was: %s", name)
		}
	}
	p.passes(f.token(t, nil))
	p.passes(f.rsa.sign(t, fields{"typ": "application/AT+JWT", "kid": "rsa"}, encodeJSON(t, f.claims())))
	p.passes(f.ed.sign(t, fields{"typ": "at+jwt", "kid": "ed"}, encodeJSON(t, f.claims())))
	if p.calls != 3 {
		t.Errorf("%d calls of the handler, want those of the good tokens", p.calls)
	}
}

// tokens are forged ones by what is wrong with each.
func (f *forger) tokens() map[string]string {
	tokens := map[string]string{
		"no JWT":                    "abc",
		"dots alone":                "..",
		"four parts":                f.token(f.tb, nil) + ".x",
		"empty signature":           strings.TrimRight(f.token(f.tb, nil), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"),
		"another's key":             f.other.sign(f.tb, f.header(), encodeJSON(f.tb, f.claims())),
		"alg none":                  encode([]byte(`{"alg":"none","typ":"at+jwt","kid":"one"}`)) + "." + encode(encodeJSON(f.tb, f.claims())) + ".",
		"alg None":                  f.reheaded(`{"alg":"None","typ":"at+jwt","kid":"one"}`),
		"no alg":                    f.reheaded(`{"typ":"at+jwt","kid":"one"}`),
		"two algs":                  f.reheaded(`{"alg":"ES256","alg":"none","typ":"at+jwt","kid":"one"}`),
		"alg of another curve":      f.reheaded(`{"alg":"ES384","typ":"at+jwt","kid":"one"}`),
		"alg of another kind":       f.reheaded(`{"alg":"RS256","typ":"at+jwt","kid":"one"}`),
		"header that is a list":     f.reheaded(`[]`),
		"header that is no JSON":    f.reheaded(`{`),
		"unknown key":               f.headed(fields{"kid": "two"}),
		"kid that is a path":        f.headed(fields{"kid": "../../dev/null"}),
		"no kid among many":         f.other.sign(f.tb, fields{"typ": "at+jwt"}, encodeJSON(f.tb, f.claims())),
		"its own key (jwk)":         f.other.sign(f.tb, changed(f.header(), fields{"jwk": f.other.jwk()}), encodeJSON(f.tb, f.claims())),
		"address of its key (jku)":  f.other.sign(f.tb, changed(f.header(), fields{"jku": "https://evil.example/keys"}), encodeJSON(f.tb, f.claims())),
		"address of its key (x5u)":  f.other.sign(f.tb, changed(f.header(), fields{"x5u": "https://evil.example/cert"}), encodeJSON(f.tb, f.claims())),
		"critical header":           f.headed(fields{"crit": []string{"exp"}, "exp": 1}),
		"critical b64":              f.headed(fields{"crit": []string{"b64"}, "b64": true}),
		"typ of any JWT":            f.headed(fields{"typ": "JWT"}),
		"typ of a proof":            f.headed(fields{"typ": "dpop+jwt"}),
		"no typ":                    f.headed(fields{"typ": nil}),
		"changed claims":            f.swapped(fields{"sub": "eve"}),
		"claims that are no JSON":   f.raw("{"),
		"claims that are a list":    f.raw("[]"),
		"two subjects":              f.claimed(`"sub":"eve"`),
		"two audiences":             f.claimed(`"aud":"https://other.example"`),
		"two issuers":               f.claimed(`"iss":"https://evil.example"`),
		"too long":                  f.token(f.tb, fields{"pad": strings.Repeat("x", 16<<10)}),
		"bound to a certificate":    f.token(f.tb, fields{"cnf": fields{"x5t#S256": "abc"}}),
		"bound to two things":       f.token(f.tb, fields{"cnf": fields{"jkt": "abc", "x5t#S256": "abc"}}),
		"bound to nothing":          f.token(f.tb, fields{"cnf": fields{}}),
		"bound to an empty key":     f.token(f.tb, fields{"cnf": fields{"jkt": ""}}),
		"bound to a key, as Bearer": f.token(f.tb, fields{"cnf": fields{"jkt": f.other.thumbprint(f.tb)}}),
	}
	public, err := x509.MarshalPKIXPublicKey(f.rsa.private.Public())
	if err != nil {
		f.tb.Fatal(err)
	}
	jwk := f.rsa.jwk()
	tokens["HMAC under the RSA key"] = f.shared(public)
	tokens["HMAC under the JWK"] = f.shared(encodeJSON(f.tb, &jwk))
	tokens["HMAC under nothing"] = f.shared(nil)
	for name, change := range f.claimChanges() {
		tokens[name] = f.token(f.tb, change)
	}
	return tokens
}

// claimChanges are claims that no good token has.
func (f *forger) claimChanges() map[string]fields {
	past, future := time.Now().Add(-31*time.Second).Unix(), time.Now().Add(10*time.Minute).Unix()
	return map[string]fields{
		"other issuer":                    {"iss": "https://evil.example"},
		"issuer with two slashes":         {"iss": f.URL + "//"},
		"issuer in upper case":            {"iss": strings.ToUpper(f.URL)},
		"no issuer":                       {"iss": nil},
		"list of issuers":                 {"iss": []string{f.URL}},
		"other audience":                  {"aud": "https://other.example/mcp"},
		"no audience":                     {"aud": nil},
		"empty audience":                  {"aud": ""},
		"no audience in a list":           {"aud": []string{}},
		"other audiences":                 {"aud": []string{"https://other.example", "https://mcp.example.com/other"}},
		"prefix of our audience":          {"aud": "https://mcp.example.com"},
		"audience that begins with us":    {"aud": identifier + "/x"},
		"audience with a suffix":          {"aud": identifier + ".evil.example"},
		"audience of another scheme":      {"aud": "http://mcp.example.com/mcp"},
		"audience of another port":        {"aud": "https://mcp.example.com:8443/mcp"},
		"audience in another case":        {"aud": "https://mcp.example.com/MCP"},
		"audience with a user":            {"aud": "https://mcp.example.com@evil.example/mcp"},
		"audience with a query":           {"aud": identifier + "?x"},
		"number as audience":              {"aud": 1},
		"audience is the client":          {"aud": "editor"},
		"expired":                         {"exp": past},
		"no expiry":                       {"exp": nil},
		"expiry that is a text":           {"exp": "4102444800"},
		"expiry beyond all time":          {"exp": 1e300},
		"expiry at nothing":               {"exp": 0},
		"not valid yet":                   {"nbf": future},
		"valid from a text":               {"nbf": "now"},
		"issued in the future":            {"iat": future},
		"issued before 1970":              {"iat": -1},
		"no subject":                      {"sub": nil},
		"empty subject":                   {"sub": ""},
		"number as subject":               {"sub": 7},
		"scope that is an object":         {"scope": fields{"read": true}},
		"confirmation that is not object": {"cnf": "jkt"},
	}
}

// swapped is a good token whose claims were changed after it was signed.
func (f *forger) swapped(change fields) string {
	parts := strings.Split(f.token(f.tb, nil), ".")
	return parts[0] + "." + encode(encodeJSON(f.tb, changed(f.claims(), change))) + "." + parts[2]
}

func TestKeysForOtherUsesAreIgnored(t *testing.T) {
	t.Parallel()
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := newAuthority(t)
	one := a.signers[0]
	secret := jose.JSONWebKey{Key: []byte(strings.Repeat("s", 32)), KeyID: "one", Algorithm: "HS256"}
	encryption := one.jwk()
	encryption.Use = "enc"
	private := jose.JSONWebKey{Key: one.private, KeyID: "one", Algorithm: "ES256"}
	algorithm := one.jwk()
	algorithm.Algorithm = "ES384"
	for name, keys := range map[string][]any{
		"none":               {},
		"a secret":           {secret},
		"for encryption":     {encryption},
		"private":            {private},
		"other algorithm":    {algorithm},
		"other curve":        {jose.JSONWebKey{Key: curve.Public(), KeyID: "one"}},
		"small":              {jose.JSONWebKey{Key: small.Public(), KeyID: "one"}},
		"unknown kind":       {fields{"kty": "XYZ", "kid": "one"}},
		"no object":          {7},
		"after too many":     append(slicesOf(64, newSigner(t, "two").jwk()), one.jwk()),
		"point not on curve": {fields{"kty": "EC", "crv": "P-256", "kid": "one", "x": encode(make([]byte, 32)), "y": encode(make([]byte, 32))}},
	} {
		a.answer("/keys", func(w http.ResponseWriter, _ *http.Request) { _ = json.MarshalWrite(w, fields{"keys": keys}) })
		w := a.protect(t).bearer(a.token(t, nil))
		if w.Code != http.StatusUnauthorized {
			t.Errorf("%s: got status %d, want 401", name, w.Code)
		}
		a.answer("/keys", func(w http.ResponseWriter, _ *http.Request) {
			_ = json.MarshalWrite(w, fields{"keys": append([]any{one.jwk()}, keys...)})
		})
		a.protect(t).passes(a.token(t, nil))
	}
}

func slicesOf(n int, v any) (all []any) {
	for range n {
		all = append(all, v)
	}
	return all
}

func TestOptionsSayWhichJWTsAreTaken(t *testing.T) {
	t.Parallel()
	f := newForger(t)
	payload := encodeJSON(t, f.claims())
	plain := f.signers[0].sign(t, fields{"typ": "JWT", "kid": "one"}, payload)
	untyped := f.signers[0].sign(t, fields{"kid": "one"}, payload)
	withRSA := f.rsa.sign(t, fields{"typ": "at+jwt", "kid": "rsa"}, payload)
	f.protect(t, mcpauth.TokenTypes("jwt", "")).passes(plain)
	f.protect(t, mcpauth.TokenTypes("jwt", "")).passes(untyped)
	f.protect(t, mcpauth.Algorithms("RS256")).passes(withRSA)
	f.protect(t, mcpauth.Algorithms("RS256")).refuses(request("Authorization", "Bearer "+f.token(t, nil)), 401, "invalid_token")
	f.protect(t, mcpauth.Audiences("api://notes")).passes(f.token(t, fields{"aud": "api://notes"}))
	f.protect(t, mcpauth.Audiences("api://notes")).refuses(request("Authorization", "Bearer "+f.token(t, fields{"aud": "api://Notes"})), 401, "invalid_token")
	f.protect(t, mcpauth.MaxToken(64<<10)).passes(f.token(t, fields{"pad": strings.Repeat("x", 16<<10)}))
	f.protect(t, mcpauth.Skew(0)).refuses(request("Authorization", "Bearer "+f.token(t, fields{"exp": time.Now().Add(-time.Second).Unix()})), 401, "invalid_token")
}
