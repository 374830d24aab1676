package jwt

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

// ES256 is the name of ECDSA with the curve P-256.
const ES256 = string(jose.ES256)

// Algorithms is a set of signature algorithms, in an order of preference. It is immutable.
type Algorithms struct{ list []jose.SignatureAlgorithm }

// AllAlgorithms returns the algorithms that are supported: all that the library can verify with
// a public key. Algorithms with a shared secret are not among them, because a server that can
// verify with it can also sign.
//
// Spec: RFC 8725 3.1; RFC 7518 3.1; RFC 8037 3.1
func AllAlgorithms() Algorithms { return Algorithms{signatureAlgorithms} }

var signatureAlgorithms = []jose.SignatureAlgorithm{
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	jose.PS256, jose.PS384, jose.PS512,
	jose.RS256, jose.RS384, jose.RS512,
}

// ParseAlgorithms returns the set of the named algorithms. It fails for algorithms that are not
// asymmetric, or unknown, and for an empty list.
func ParseAlgorithms(names []string) (Algorithms, error) {
	if len(names) == 0 {
		return Algorithms{}, errors.New("no algorithm: want at least one")
	}
	var a Algorithms
	for _, name := range names {
		if !AllAlgorithms().Contains(name) {
			return Algorithms{}, fmt.Errorf("algorithm %q: want some of %v", name, signatureAlgorithms)
		}
		a.list = append(a.list, jose.SignatureAlgorithm(name))
	}
	return a, nil
}

// Names returns the names of the algorithms.
func (a Algorithms) Names() (names []string) {
	for _, algorithm := range a.list {
		names = append(names, string(algorithm))
	}
	return names
}

// Contains reports whether the set has the algorithm.
func (a Algorithms) Contains(name string) bool {
	return slices.Contains(a.list, jose.SignatureAlgorithm(name))
}

// UsualAlgorithm returns the algorithm that most servers accept for a key, or "" if the type of
// the key is not supported.
//
// Spec: RFC 7518 3.1; RFC 8037 3.1
func UsualAlgorithm(public crypto.PublicKey) string {
	switch key := public.(type) {
	case *rsa.PublicKey:
		return string(jose.RS256)
	case ed25519.PublicKey:
		return string(jose.EdDSA)
	case *ecdsa.PublicKey:
		return map[int]string{256: string(jose.ES256), 384: string(jose.ES384), 521: string(jose.ES512)}[key.Params().BitSize]
	}
	return ""
}
