package revocation_test

import (
	"encoding/base64"
	"testing"

	"github.com/fondaco/fondaco/host/revocation"
)

func TestAllSpellingsOfAJSONWebTokenHaveOneName(t *testing.T) {
	t.Parallel()
	encode := base64.RawURLEncoding.EncodeToString
	header, claims := encode([]byte(`{"alg":"ES256"}?`)), encode([]byte(`{"sub":"ada>>>?"}`))
	signed := header + "." + claims + "."
	token := signed + "c2lnbmF0dXJlAA"
	for what, other := range map[string]string{
		"unused bits of the signature": signed + "c2lnbmF0dXJlAB",
		"another signature":            signed + "b3RoZXI",
		"no signature":                 signed,
		"padding":                      header + "==." + claims + "=.c2lnbmF0dXJlAA==",
		"unused bits of the header":    header[:len(header)-1] + string(header[len(header)-1]+1) + "." + claims + ".c2lnbmF0dXJlAA",
		"the other alphabet":           base64.RawStdEncoding.EncodeToString([]byte(`{"alg":"ES256"}?`)) + "." + base64.RawStdEncoding.EncodeToString([]byte(`{"sub":"ada>>>?"}`)) + ".c2lnbmF0dXJlAA",
	} {
		if other == token {
			t.Fatalf("%s: is the same text", what)
		}
		if revocation.TokenName(other) != revocation.TokenName(token) {
			t.Errorf("%s: got another name than that of the token", what)
		}
	}
}

func TestOtherTokensHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	encode := base64.RawURLEncoding.EncodeToString
	header := encode([]byte(`{"alg":"ES256"}`))
	names := make(map[string]string)
	for _, token := range []string{
		header + "." + encode([]byte(`{"sub":"ada"}`)) + ".c2ln", header + "." + encode([]byte(`{"sub":"bob"}`)) + ".c2ln",
		header + ".not base64.c2ln", header + ".not base64.c2lo", // no tokens
		"v4.public.YWRh", "v4.public.Ym9i", // PASETO
		"a.b.c", "a.b.d", "abc", "abd",
		header + ".a.b.c.d", header + ".a.b.c.e", // encrypted
	} {
		name := revocation.TokenName(token)
		if other, found := names[name]; found {
			t.Errorf("%q and %q have one name", token, other)
		}
		if names[name] = token; !revocation.IsTokenName(name) {
			t.Errorf("got %q, want the name of a token", name)
		}
	}
}
