// Package dpop makes and verifies proofs that the sender of a request has the key that its access
// token is bound to.
//
// Clients have a Prover for each key, and Nonces for all of them. Servers have a Checker, which
// accepts each proof once. The package does not know how tokens are issued and verified: its
// callers say which key a token is bound to, and answer refused requests.
//
// Spec: RFC 9449
package dpop

// Headers of DPoP.
//
// Spec: RFC 9449 4.1, 8.1
const (
	HeaderProof = "DPoP"
	HeaderNonce = "DPoP-Nonce"
)
