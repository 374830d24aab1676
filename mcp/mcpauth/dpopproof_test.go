package mcpauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json/v2"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// readSigned verifies a JWT with a key, or with the one in its header, into claims.
func readSigned(t *testing.T, compact string, key any, claims any) jose.Header {
	t.Helper()
	signed, err := jose.ParseSigned(compact, signatureAlgorithms)
	if err != nil {
		t.Fatalf("%s: %v", compact, err)
	}
	header := signed.Signatures[0].Protected
	if key == nil {
		key = header.JSONWebKey
	}
	payload, err := signed.Verify(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(payload, claims); err != nil {
		t.Fatal(err)
	}
	return header
}

func testProver(t *testing.T, n *nonces) *prover {
	t.Helper()
	p, err := newProver(n)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProofsAreFreshAndBound(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-403")
	synctest.Test(t, func(t *testing.T) {
		p := testProver(t, new(nonces))
		seen := make(map[string]bool)
		for range 3 {
			proof, err := p.Proof("POST", "https://mcp.example/mcp%20x?q=1#f", "token")
			if err != nil {
				t.Fatal(err)
			}
			var claims map[string]any
			header := readSigned(t, proof, nil, &claims)
			if header.ExtraHeaders["typ"] != "dpop+jwt" || header.Algorithm != "ES256" || !header.JSONWebKey.IsPublic() || header.KeyID != "" {
				t.Errorf("got header %+v", header)
			}
			sum, _ := header.JSONWebKey.Thumbprint(crypto.SHA256)
			if got := base64.RawURLEncoding.EncodeToString(sum); got != p.thumbprint() {
				t.Errorf("got thumbprint %s, want %s", p.thumbprint(), got)
			}
			id := claims["jti"].(string)
			delete(claims, "jti")
			// The hash is that of printf token | openssl sha256 -binary, in base64url.
			want := fmt.Sprint(map[string]any{"htm": "POST", "htu": "https://mcp.example/mcp%20x", "iat": float64(time.Now().Unix()), "ath": "PEaenWxYddN6Q_NT1PiOYfz4EsZu7jRXRlpAsNpBU-A"})
			if got := fmt.Sprint(claims); got != want || seen[id] || len(id) < 20 {
				t.Errorf("got %v, jti %s, want %s and another jti", got, id, want)
			}
			seen[id] = true
		}
	})
}

func TestProofsHoldTheNonceOfTheirOrigin(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-403")
	n := new(nonces)
	p := testProver(t, n)
	nonceOf := func(address string) string {
		proof, err := p.Proof("GET", address, "")
		if err != nil {
			t.Fatal(err)
		}
		var claims proofPayload
		readSigned(t, proof, nil, &claims)
		if claims.Token != "" {
			t.Errorf("a proof without a token has the hash of one: %+v", claims)
		}
		return claims.Nonce
	}
	remember := func(address string, values ...string) bool {
		return p.Remember(address, http.Header{"Dpop-Nonce": values})
	}
	if !remember("https://AS.example:443/token", "n1") || remember("https://as.example/", "n1") || !remember("https://as.example/", "n2") {
		t.Error("want to be told whether a nonce is new")
	}
	for _, bad := range [][]string{nil, {""}, {"a b"}, {`a"b`}, {"a", "b"}, {strings.Repeat("n", maxNonce+1)}} {
		if remember("https://as.example/", bad...) {
			t.Errorf("%.20q was taken", bad)
		}
	}
	for address, want := range map[string]string{"https://as.example/x": "n2", "https://as.example:444/x": "", "http://as.example/x": "", "https://mcp.example/": ""} {
		if got := nonceOf(address); got != want {
			t.Errorf("%s: got nonce %q, want %q", address, got, want)
		}
	}
	for i := range 2 * maxNonces {
		remember(fmt.Sprintf("https://%d.example/", i), "n")
	}
	if len(n.byOrigin) > maxNonces {
		t.Errorf("got %d nonces, want at most %d", len(n.byOrigin), maxNonces)
	}
}

func TestProofKeysAreKeptWithTheirTokens(t *testing.T) {
	t.Parallel()
	p := testProver(t, new(nonces))
	secret, err := p.secret()
	if err != nil {
		t.Fatal(err)
	}
	g := held(0, time.Hour)
	g.ProofKey = secret
	text, err := encodeRecord(g)
	if err != nil {
		t.Fatal(err)
	}
	back, err := decodeGrant(text, heldKey)
	if err != nil {
		t.Fatal(err)
	}
	again, err := back.prover(new(nonces))
	if err != nil || again.thumbprint() != p.thumbprint() {
		t.Errorf("got %v, %v", again, err)
	}
	if p, err := held(0, time.Hour).prover(nil); p != nil || err != nil {
		t.Errorf("tokens without a key: got %v, %v", p, err)
	}
	for _, bad := range []oauth.Secret{"?", "AAAA", "canary"} {
		if _, err := parseProver(bad, nil); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("got %v", err)
		}
	}
}

func TestAssertionsAreForOneServerAndShort(t *testing.T) {
	t.Parallel()
	p256, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	_, ed, _ := ed25519.GenerateKey(rand.Reader)
	rsaKey, _ := rsa.GenerateKey(rand.Reader, 2048)
	for _, test := range []struct {
		key       crypto.Signer
		algorithm string
		want      string
	}{{p256, "", "ES256"}, {p384, "", "ES384"}, {ed, "", "EdDSA"}, {rsaKey, "", "RS256"}, {rsaKey, "PS256", "PS256"}} {
		synctest.Test(t, func(t *testing.T) {
			a, err := newAssertions("app", &PrivateKey{Signer: test.key, Algorithm: test.algorithm, ID: "k1"})
			if err != nil {
				t.Fatal(err)
			}
			first, err := a.assert("https://as.example")
			if err != nil {
				t.Fatal(err)
			}
			var got assertionPayload
			header := readSigned(t, first, test.key.Public(), &got)
			now := time.Now().Unix()
			want := assertionPayload{Issuer: "app", Subject: "app", Audience: "https://as.example", ID: got.ID, Issued: now, Expires: now + 120}
			if got != want || got.ID == "" || header.Algorithm != test.want || header.KeyID != "k1" || header.JSONWebKey != nil {
				t.Errorf("got %+v with header %+v, want %+v by %s", got, header, want, test.want)
			}
			if second, _ := a.assert("https://as.example"); second == first {
				t.Error("got the same assertion twice")
			}
		})
	}
	for _, bad := range []*PrivateKey{{}, {Signer: p256, Algorithm: "HS256"}, {Signer: p256, Algorithm: "none"}, {Signer: p256, Algorithm: "RS256"}, {Signer: p256, Algorithm: "ES384"}} {
		if _, err := newAssertions("app", bad); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
}

func TestPrivateKeysAreNeverPrinted(t *testing.T) {
	t.Parallel()
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	secret, _ := key.Bytes()
	k := PrivateKey{Signer: key, ID: "k1"}
	var log strings.Builder
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	logger.Info("key", "value", k, "pointer", &k, slog.Any("in", &ClientCredentials{Key: &k}))
	text, err := json.Marshal(ClientCredentials{Key: &k})
	if err != nil {
		t.Fatal(err)
	}
	got := log.String() + string(text)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		got += fmt.Sprintf(verb+verb+verb, k, &k, ClientCredentials{Key: &k})
	}
	for _, form := range []string{fmt.Sprint(key.D), fmt.Sprintf("%x", secret), base64.StdEncoding.EncodeToString(secret), base64.RawURLEncoding.EncodeToString(secret)} {
		if strings.Contains(got, form) {
			t.Errorf("the key is in %s", got)
		}
	}
	if !strings.Contains(got, "k1") {
		t.Errorf("want the id of the key in %s", got)
	}
}
