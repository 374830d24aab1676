package mcpauth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json/v2"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/fondaco/fondaco/mcp/internal/jwt"
)

// FuzzVerify holds that no text but one that the key has signed is a token.
func FuzzVerify(f *testing.F) {
	const issuer, audience = "https://id.example.com", "https://mcp.example.com/mcp"
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	sign := func(claims map[string]any) string {
		o := (&jose.SignerOptions{}).WithType("at+jwt").WithHeader("kid", "one")
		s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: private}, o)
		if err != nil {
			f.Fatal(err)
		}
		payload, err := json.Marshal(claims)
		if err != nil {
			f.Fatal(err)
		}
		signed, err := s.Sign(payload)
		if err != nil {
			f.Fatal(err)
		}
		compact, err := signed.CompactSerialize()
		if err != nil {
			f.Fatal(err)
		}
		return compact
	}
	good := sign(map[string]any{"iss": issuer, "sub": "ada", "aud": audience, "exp": time.Now().Add(1000 * time.Hour).Unix()})
	r := New(audience, Issuer(issuer))
	r.issuers[issuer].keys = jwt.NewKeySet(func(context.Context) ([]jwt.Key, error) {
		return []jwt.Key{jwt.NewKey(&private.PublicKey, "one", "")}, nil
	})
	if t, err := r.verify(f.Context(), good); err != nil || r.checkToken(t, time.Now()) != nil {
		f.Fatalf("the good token: %v", err)
	}
	parts := strings.Split(good, ".")
	for _, seed := range []string{
		good, sign(map[string]any{"iss": issuer}), "", ".", "..", "...", parts[0] + "." + parts[1] + ".", "eyJhbGciOiJub25lIn0." + parts[1] + ".",
		"eyJhbGciOiJFUzI1NiIsImNyaXQiOltdfQ." + parts[1] + "." + parts[2],
	} {
		f.Add(seed)
	}
	signedText := parts[0] + "." + parts[1] + "."
	f.Fuzz(func(t *testing.T, text string) {
		token, err := r.verify(t.Context(), text)
		if err == nil {
			err = r.checkToken(token, time.Now())
		}
		if err == nil && !strings.HasPrefix(text, signedText) {
			t.Errorf("%q is a token", text)
		}
		if d := asDenial(err); err != nil && (d.status != 401 || d.code != codeInvalidToken) {
			t.Errorf("%q: got status %d, %v", text, d.status, err)
		}
	})
}

// FuzzAuthorization holds that what is taken for credentials is the header as it
// was, and that a challenge stays one header.
func FuzzAuthorization(f *testing.F) {
	for _, seed := range []string{"Bearer abc", "bearer  a.b.c==", "DPoP x", "Basic YTpi", "Bearer", "Bearer a b", "Bearer =", "Bearer \x00", " Bearer x", "Bearer a,b"} {
		f.Add(seed)
	}
	r := New("https://mcp.example.com/mcp", Issuer("https://id.example.com"))
	f.Fuzz(func(t *testing.T, value string) {
		c, err := parseAuthorization(value)
		if err == nil && (!isToken68(c.token) || !strings.HasSuffix(value, " "+c.token) || !strings.EqualFold(strings.TrimRight(strings.TrimSuffix(value, c.token), " "), c.scheme)) {
			t.Errorf("%q: got %+v", value, c)
		}
		challenge := r.challenge(schemeBearer, codeInvalidToken, value, askedScopes([]string{value}))
		if strings.ContainsFunc(challenge, func(c rune) bool { return c < ' ' || c > '~' }) {
			t.Errorf("%q: got challenge %q", value, challenge)
		}
	})
}
