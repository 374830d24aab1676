package oauth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// S256 is the only code challenge method that we use.
const S256 = "S256"

// Random returns 256 random bits as 43 characters of base64url, for states and
// verifiers.
func Random() Secret {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return Secret(base64.RawURLEncoding.EncodeToString(b[:]))
}

// CodeChallenge returns the code challenge of the verifier by the method S256.
//
// Spec: RFC 7636 4.2
func CodeChallenge(verifier Secret) string {
	sum := sha256.Sum256([]byte(verifier.Reveal()))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
