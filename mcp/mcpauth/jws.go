package mcpauth

import (
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// jws is a parsed compact JWS with an allowed algorithm. Only verify returns
// its payload.
//
// Spec: RFC 7515 5.2
type jws struct {
	header jwsHeader
	signed *jose.JSONWebSignature
}

// jwsHeader is the part of a protected header that is used. Keys and URLs of
// keys (jwk, jku, x5c, x5u) are ignored: the author of a token must not choose
// the key that verifies it.
//
// Spec: RFC 8725 3.10
type jwsHeader struct {
	Algorithm jose.SignatureAlgorithm `json:"alg"`
	KeyID     string                  `json:"kid"`
	Type      string                  `json:"typ"`
	Critical  jsontext.Value          `json:"crit"`
}

// Errors of JWS. They repeat nothing of the text.
var (
	errNotJWS       = errors.New("not a compact JWS of an allowed algorithm")
	errCritical     = errors.New("critical header parameters, which are not supported")
	errBadSignature = errors.New("the signature is invalid")
)

// parseJWS parses a compact JWS, in time linear in the length of the text.
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

// mediaType normalizes the typ of a JWT: lower case, without application/.
//
// Spec: RFC 7515 4.1.9
func mediaType(typ string) string {
	return strings.TrimPrefix(strings.ToLower(typ), "application/")
}
