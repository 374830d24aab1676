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
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/jwt"
)

// readSigned verifies a JWT with a key into claims.
func readSigned(t *testing.T, compact string, key crypto.PublicKey, claims any) *jwt.Signed {
	t.Helper()
	signed, err := jwt.Parse(compact, jwt.AllAlgorithms())
	if err != nil {
		t.Fatalf("%s: %v", compact, err)
	}
	payload, err := signed.Verify(jwt.NewKey(key, "", ""))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(payload, claims); err != nil {
		t.Fatal(err)
	}
	return signed
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
			signed := readSigned(t, first, test.key.Public(), &got)
			_, embedded := signed.HeaderKey()
			now := time.Now().Unix()
			want := assertionPayload{Issuer: "app", Subject: "app", Audience: "https://as.example", ID: got.ID, Issued: now, Expires: now + 120}
			if got != want || got.ID == "" || signed.Header.Algorithm != test.want || signed.Header.KeyID != "k1" || embedded {
				t.Errorf("got %+v with header %+v, want %+v by %s", got, signed.Header, want, test.want)
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
