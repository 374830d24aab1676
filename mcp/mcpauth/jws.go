package mcpauth

import (
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// jws is a compact JWS of an allowed algorithm whose header was read strictly.
// Its payload is out of reach until the signature is verified.
//
// Spec: RFC 7515 5.2
type jws struct {
	header jwsHeader
	signed *jose.JSONWebSignature
}

// jwsHeader is what is taken from a protected header. Keys and addresses of keys
// (jwk, jku, x5c, x5u) are not: whoever makes a token must not choose the key
// that it is verified with.
//
// Spec: RFC 8725 3.10
type jwsHeader struct {
	Algorithm jose.SignatureAlgorithm `json:"alg"`
	KeyID     string                  `json:"kid"`
	Type      string                  `json:"typ"`
	Critical  jsontext.Value          `json:"crit"`
}

// Errors of JWS. They say nothing of the text.
var (
	errNotJWS       = errors.New("not a compact JWS of an allowed algorithm")
	errCritical     = errors.New("critical header parameters, of which none is known")
	errBadSignature = errors.New("the signature does not fit")
)

// parseJWS reads a compact JWS. It is linear in the length of the text.
func parseJWS(compact string, allowed []jose.SignatureAlgorithm) (*jws, error) {
	protected, _, _ := strings.Cut(compact, ".")
	raw, err := base64.RawURLEncoding.DecodeString(protected)
	if err != nil {
		return nil, errNotJWS
	}
	var header jwsHeader
	if json.Unmarshal(raw, &header) != nil {
		return nil, errNotJWS
	}
	if header.Critical != nil {
		return nil, errCritical
	}
	signed, err := jose.ParseSignedCompact(compact, allowed)
	if err != nil || len(signed.Signatures) != 1 {
		return nil, errNotJWS
	}
	return &jws{header: header, signed: signed}, nil
}

// verify returns the payload if one of the keys has signed it.
func (s *jws) verify(keys []verificationKey) ([]byte, error) {
	for _, k := range keys {
		if payload, err := s.signed.Verify(k.public); err == nil {
			return payload, nil
		}
	}
	return nil, errBadSignature
}

// mediaType is the typ of a JWT in one form: lower case, without application/.
//
// Spec: RFC 7515 4.1.9
func mediaType(typ string) string {
	return strings.TrimPrefix(strings.ToLower(typ), "application/")
}
