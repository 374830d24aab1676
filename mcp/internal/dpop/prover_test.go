package dpop

import (
	"encoding/json/v2"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/jwt"
	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// readProof verifies a proof with the public key in its header into claims.
func readProof(t *testing.T, proof string, claims any) (jwt.Header, jwt.Key) {
	t.Helper()
	signed, err := jwt.Parse(proof, jwt.AllAlgorithms())
	if err != nil {
		t.Fatalf("%s: %v", proof, err)
	}
	key, ok := signed.HeaderKey()
	if !ok {
		t.Fatalf("%s: no public key in the header", proof)
	}
	payload, err := signed.Verify(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(payload, claims); err != nil {
		t.Fatal(err)
	}
	return signed.Header, key
}

func testProver(t *testing.T, n *Nonces) *Prover {
	t.Helper()
	p, err := NewProver(n)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProofsAreFreshAndBound(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-403")
	synctest.Test(t, func(t *testing.T) {
		p := testProver(t, new(Nonces))
		seen := make(map[string]bool)
		for range 3 {
			proof, err := p.Proof("POST", "https://mcp.example/mcp%20x?q=1#f", "token")
			if err != nil {
				t.Fatal(err)
			}
			var claims map[string]any
			header, key := readProof(t, proof, &claims)
			if header.Type != "dpop+jwt" || header.Algorithm != "ES256" || header.KeyID != "" {
				t.Errorf("got header %+v", header)
			}
			if got, err := key.Thumbprint(); err != nil || got != p.Thumbprint() {
				t.Errorf("got thumbprint %s, %v, want %s", got, err, p.Thumbprint())
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
	n := new(Nonces)
	p := testProver(t, n)
	nonceOf := func(address string) string {
		proof, err := p.Proof("GET", address, "")
		if err != nil {
			t.Fatal(err)
		}
		var claims proofPayload
		readProof(t, proof, &claims)
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

func TestKeysOfAnotherFormatAreRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []oauth.Secret{"?", "AAAA", "canary"} {
		if _, err := ParseProver(bad, nil); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("got %v", err)
		}
	}
}
