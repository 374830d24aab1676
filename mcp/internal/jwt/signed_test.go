package jwt_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"slices"
	"strings"
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

// Whoever knows a token by its text, such as a list of revoked ones, would not know the others.
func TestATokenHasOneSpelling(t *testing.T) {
	t.Parallel()
	key := newECDSA(t)
	var compact string
	for id := "k"; ; id += "k" { // until the last characters of all parts have unused bits
		compact = sign(t, key, jwt.SignerOptions{Type: "JWT", KeyID: id})
		if header, _, _ := strings.Cut(compact, "."); len(header)%4 != 0 {
			break
		}
	}
	if _, err := jwt.Parse(compact, jwt.AllAlgorithms()); err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(compact, ".")
	for i, part := range parts {
		last := part[len(part)-1]
		for _, other := range []string{part[:len(part)-1] + string(last+1), part + "=", part + "\n", part[:4] + "\r\n" + part[4:]} {
			changed := slices.Clone(parts)
			changed[i] = other
			if _, err := jwt.Parse(strings.Join(changed, "."), jwt.AllAlgorithms()); err == nil {
				t.Errorf("part %d: %q is parsed as %q is, want an error", i, other, part)
			}
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
