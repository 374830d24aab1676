package jwt

import (
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// Signed is a parsed JWT in compact form with an allowed algorithm. Only Verify returns its
// payload.
//
// Spec: RFC 7515 5.2
type Signed struct {
	Header Header
	signed *jose.JSONWebSignature
}

// Header is the part of a protected header that is used. Keys and URLs of keys (jwk, jku, x5c,
// x5u) are ignored, except by HeaderKey: the author of a token must not choose the key that
// verifies it.
//
// Spec: RFC 8725 3.10
type Header struct {
	Algorithm string         `json:"alg"`
	KeyID     string         `json:"kid"`
	Type      string         `json:"typ"` // normalized by MediaType
	Critical  jsontext.Value `json:"crit"`
}

// Errors of Parse and Verify. They repeat nothing of the text.
var (
	errNotJWS       = errors.New("not a compact JWS of an allowed algorithm")
	errCritical     = errors.New("critical header parameters, which are not supported")
	errBadSignature = errors.New("the signature is invalid")
)

// Decode decodes one part of a JWT. It accepts one spelling of each value: the last character can
// have bits that are not used, and encoding/base64 skips the ends of lines.
//
// Spec: RFC 7515 2; RFC 4648 3.5
func Decode(part string) ([]byte, error) {
	if strings.ContainsAny(part, "\r\n") {
		return nil, errNotJWS
	}
	return base64.RawURLEncoding.Strict().DecodeString(part)
}

// Parse parses a JWT in compact form, in time linear in the length of the text. Its errors
// complete the sentence "the token is …".
func Parse(compact string, allowed Algorithms) (*Signed, error) {
	protected, rest, _ := strings.Cut(compact, ".")
	raw, err := Decode(protected)
	if err != nil {
		return nil, errNotJWS
	}
	for part := range strings.SplitSeq(rest, ".") { // go-jose decodes all spellings
		if _, err := Decode(part); err != nil {
			return nil, errNotJWS
		}
	}
	var header Header
	if json.Unmarshal(raw, &header) != nil {
		return nil, errNotJWS
	}
	if header.Critical != nil {
		return nil, errCritical
	}
	signed, err := jose.ParseSignedCompact(compact, allowed.list)
	if err != nil || len(signed.Signatures) != 1 {
		return nil, errNotJWS
	}
	header.Type = MediaType(header.Type)
	return &Signed{header, signed}, nil
}

// Verify returns the payload if one of the keys has signed it.
func (s *Signed) Verify(keys ...Key) ([]byte, error) {
	for _, k := range keys {
		if payload, err := s.signed.Verify(k.public); err == nil {
			return payload, nil
		}
	}
	return nil, errBadSignature
}

// HeaderKey returns the public key in the header (jwk), and false if it has none for signatures.
// The sender has chosen the key: compare its thumbprint with one from another source.
//
// Spec: RFC 7515 4.1.3
func (s *Signed) HeaderKey() (Key, bool) {
	key := s.signed.Signatures[0].Protected.JSONWebKey
	if key == nil || !isForSignatures(key) {
		return Key{}, false
	}
	return Key{public: key.Key}, true
}

// MediaType normalizes the typ of a JWT: lower case, without application/.
//
// Spec: RFC 7515 4.1.9
func MediaType(typ string) string {
	return strings.TrimPrefix(strings.ToLower(typ), "application/")
}
