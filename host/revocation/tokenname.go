package revocation

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// tokenPrefix is the beginning of the names of tokens.
const tokenPrefix = "sha256:"

// TokenName returns the name of a token in the list, which is a digest. That of a JSON Web Token
// is the digest of its header and claims: the same token can be written with another signature.
func TokenName(token string) string {
	if signed := signedPart(token); signed != "" {
		token = signed
	}
	digest := sha256.Sum256([]byte(token))
	return tokenPrefix + hex.EncodeToString(digest[:])
}

// IsTokenName reports whether a name in the list is that of a token.
func IsTokenName(name string) bool {
	digest, ok := strings.CutPrefix(name, tokenPrefix)
	return ok && len(digest) == hex.EncodedLen(sha256.Size)
}

// signedPart returns the header and the claims of a JSON Web Token, in one spelling of base64. It
// returns nothing for other tokens, also those that have three parts.
//
// Spec: RFC 7515 3.1
func signedPart(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	header, err := decodePart(parts[0])
	if err != nil || !bytes.HasPrefix(bytes.TrimSpace(header), []byte("{")) {
		return ""
	}
	claims, err := decodePart(parts[1])
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString(claims)
}

// standardAlphabet replaces the characters of base64 that those of base64url replace.
var standardAlphabet = strings.NewReplacer("+", "-", "/", "_")

// decodePart decodes every spelling that some verifier may accept.
func decodePart(part string) ([]byte, error) {
	return base64.RawURLEncoding.DecodeString(standardAlphabet.Replace(strings.TrimRight(part, "=")))
}
