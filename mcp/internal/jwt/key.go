package jwt

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json/jsontext"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

const (
	// maxKeys is the maximum number of keys of one set; further keys are
	// ignored.
	maxKeys = 64
	// minRSABits is the minimum size of an RSA key.
	//
	// Spec: RFC 7518 3.3
	minRSABits = 2048
)

// Key is a public key that verifies signatures.
type Key struct {
	id        string
	algorithm string // that it is for; empty: any that fits
	public    any    // *rsa.PublicKey, *ecdsa.PublicKey or ed25519.PublicKey
}

// NewKey returns a key with an id and an algorithm, which may be empty: then the key is for all
// algorithms of its type.
func NewKey(public crypto.PublicKey, id, algorithm string) Key {
	return Key{id: id, algorithm: algorithm, public: public}
}

// ParseKeys reads the keys of a JWK set. It ignores keys that are not for
// signatures, not public, too small or of an unknown type.
//
// Spec: RFC 7517 5
func ParseKeys(set []jsontext.Value) []Key {
	keys := []Key{}
	for _, raw := range set {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(raw) == nil && isForSignatures(&k) && len(keys) < maxKeys {
			keys = append(keys, Key{id: k.KeyID, algorithm: k.Algorithm, public: k.Key})
		}
	}
	return keys
}

// isForSignatures reports whether the key may only be used to verify
// signatures.
func isForSignatures(k *jose.JSONWebKey) bool {
	if !k.Valid() || !k.IsPublic() || k.Use != "" && k.Use != "sig" {
		return false
	}
	r, ok := k.Key.(*rsa.PublicKey)
	return !ok || r.N.BitLen() >= minRSABits
}

// MarshalJSON returns the key as a JWK for signatures.
//
// Spec: RFC 7517 4
func (k Key) MarshalJSON() ([]byte, error) {
	return (&jose.JSONWebKey{Key: k.public, KeyID: k.id, Algorithm: k.algorithm, Use: "sig"}).MarshalJSON()
}

// Supports reports whether the key can be used with the algorithm.
//
// Spec: RFC 8725 3.1; RFC 7518 3.4
func (k Key) Supports(algorithm string) bool {
	if k.algorithm != "" && k.algorithm != algorithm {
		return false
	}
	switch public := k.public.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(algorithm, "RS") || strings.HasPrefix(algorithm, "PS")
	case *ecdsa.PublicKey:
		return curves[jose.SignatureAlgorithm(algorithm)] == public.Curve.Params().Name
	case ed25519.PublicKey:
		return algorithm == string(jose.EdDSA)
	}
	return false
}

// curves are the curves of the ECDSA algorithms.
var curves = map[jose.SignatureAlgorithm]string{jose.ES256: "P-256", jose.ES384: "P-384", jose.ES512: "P-521"}

// Thumbprint returns the JWK thumbprint with SHA-256, which identifies the key.
//
// Spec: RFC 7638 3
func (k Key) Thumbprint() (string, error) {
	sum, err := (&jose.JSONWebKey{Key: k.public}).Thumbprint(crypto.SHA256)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(sum), nil
}
