package mcpauth

import (
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

// signatureAlgorithms are the default allowed algorithms: all that go-jose can
// verify with a public key. Algorithms with a shared secret are not allowed,
// because a server that can verify with it can also sign.
//
// Spec: RFC 8725 3.1; RFC 7518 3.1; RFC 8037 3.1
var signatureAlgorithms = []jose.SignatureAlgorithm{
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	jose.PS256, jose.PS384, jose.PS512,
	jose.RS256, jose.RS384, jose.RS512,
}

// parseAlgorithms panics for algorithms that are not asymmetric, or unknown.
func parseAlgorithms(names []string) []jose.SignatureAlgorithm {
	if len(names) == 0 {
		panic("mcpauth: no algorithm: want at least one")
	}
	var algorithms []jose.SignatureAlgorithm
	for _, name := range names {
		a := jose.SignatureAlgorithm(name)
		if !slices.Contains(signatureAlgorithms, a) {
			panic(fmt.Sprintf("mcpauth: algorithm %q: want some of %v", name, signatureAlgorithms))
		}
		algorithms = append(algorithms, a)
	}
	return algorithms
}
