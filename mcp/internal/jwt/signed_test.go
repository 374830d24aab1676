package jwt_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/jwt"
)

func newECDSA(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t *testing.T, key crypto.Signer, o jwt.SignerOptions) string {
	t.Helper()
	o.Algorithm = jwt.UsualAlgorithm(key.Public())
	s, err := jwt.NewSigner(key, o)
	if err != nil {
		t.Fatal(err)
	}
	compact, err := s.Sign(map[string]string{"sub": "ada"})
	if err != nil {
		t.Fatal(err)
	}
	return compact
}

func TestSignatureIsVerifiedByItsKeyOnly(t *testing.T) {
	t.Parallel()
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other := jwt.NewKey(newECDSA(t).Public(), "", "")
	for _, key := range []crypto.Signer{newECDSA(t), ed} {
		own := jwt.NewKey(key.Public(), "one", "")
		signed, err := jwt.Parse(sign(t, key, jwt.SignerOptions{Type: "application/AT+JWT", KeyID: "one"}), jwt.AllAlgorithms())
		if err != nil {
			t.Fatal(err)
		}
		if h := signed.Header; h.Type != "at+jwt" || h.KeyID != "one" || !own.Supports(h.Algorithm) {
			t.Errorf("got header %+v", h)
		}
		if payload, err := signed.Verify(other, own); err != nil || string(payload) != `{"sub":"ada"}` {
			t.Errorf("own key: got %s, %v", payload, err)
		}
		if payload, err := signed.Verify(other); err == nil || payload != nil {
			t.Errorf("another key: got %s", payload)
		}
		if _, embedded := signed.HeaderKey(); embedded {
			t.Error("got a key in the header, want none")
		}
	}
}

func TestOnlyAllowedAlgorithmsAreParsed(t *testing.T) {
	t.Parallel()
	allowed, err := jwt.ParseAlgorithms([]string{"EdDSA", "RS256"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := jwt.Parse(sign(t, newECDSA(t), jwt.SignerOptions{Type: "JWT"}), allowed); err == nil {
		t.Error("ES256 was parsed, want an error")
	}
	for _, bad := range [][]string{nil, {"HS256"}, {"none"}, {"ES256", ""}} {
		if _, err := jwt.ParseAlgorithms(bad); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}

func TestHeaderKeyIsTheEmbeddedOne(t *testing.T) {
	t.Parallel()
	key := newECDSA(t)
	signed, err := jwt.Parse(sign(t, key, jwt.SignerOptions{Type: "dpop+jwt", EmbedKey: true}), jwt.AllAlgorithms())
	if err != nil {
		t.Fatal(err)
	}
	embedded, ok := signed.HeaderKey()
	want, err := jwt.NewKey(key.Public(), "", "").Thumbprint()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := embedded.Thumbprint(); !ok || err != nil || got != want {
		t.Errorf("got %s, %v, %v, want %s", got, ok, err, want)
	}
}
