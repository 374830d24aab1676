package mcpauth

import (
	"cmp"
	"crypto"
	"crypto/rand"
	"fmt"
	"log/slog"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/jwt"
)

// assertionLifetime is short, because an assertion is made for one request.
const assertionLifetime = 2 * time.Minute

// PrivateKey is a key with which a client authenticates itself, without sending
// a secret. Printing or logging it does not show the key.
//
// Spec: RFC 7523 2.2
type PrivateKey struct {
	// Signer is an RSA, ECDSA or Ed25519 key, in memory or in a device. Use crypto/x509 and
	// encoding/pem to read a key in PEM.
	Signer crypto.Signer
	// Algorithm is the algorithm of JSON Web Signatures, such as "ES256". Empty means RS256, ES256,
	// ES384, ES512 or EdDSA, according to the type of the key.
	Algorithm string
	// ID is the key id (kid) at the authorization server. It may be empty if
	// the server has only one key of the client.
	ID string
}

// Format prints the id and the algorithm, for every verb.
func (k PrivateKey) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "private key %q %s", k.ID, k.Algorithm)
}

// LogValue is the id and the algorithm.
func (k PrivateKey) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(k)) }

// MarshalText is the id and the algorithm, in JSON as well.
func (k PrivateKey) MarshalText() ([]byte, error) { return fmt.Append(nil, k), nil }

// assertions makes client assertions. It is safe for concurrent use if the key
// is.
type assertions struct {
	client string
	signer *jwt.Signer
}

func newAssertions(client string, k *PrivateKey) (*assertions, error) {
	algorithm, err := k.algorithm()
	if err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	signer, err := jwt.NewSigner(k.Signer, jwt.SignerOptions{Algorithm: algorithm, Type: "JWT", KeyID: k.ID})
	if err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	return &assertions{client, signer}, nil
}

// algorithm returns the signature algorithm of the key.
func (k *PrivateKey) algorithm() (string, error) {
	if k.Signer == nil {
		return "", fmt.Errorf("want a Signer")
	}
	algorithm := cmp.Or(k.Algorithm, jwt.UsualAlgorithm(k.Signer.Public()))
	if all := jwt.AllAlgorithms(); !all.Contains(algorithm) {
		return "", fmt.Errorf("algorithm %q of a %T: want one of %v", algorithm, k.Signer.Public(), all.Names())
	}
	return algorithm, nil
}

// assertionPayload is the payload of a client assertion.
//
// Spec: RFC 7523 3
type assertionPayload struct {
	Issuer   string `json:"iss"`
	Subject  string `json:"sub"`
	Audience string `json:"aud"`
	ID       string `json:"jti"`
	Issued   int64  `json:"iat"`
	Expires  int64  `json:"exp"`
}

// assert returns a new assertion for an authorization server. Its audience is
// the issuer: an assertion for a token endpoint could be forwarded by another
// server that claims the same endpoint.
//
// Spec: RFC 7523 3; draft-ietf-oauth-rfc7523bis 4
func (a *assertions) assert(issuer string) (string, error) {
	now := time.Now()
	return a.signer.Sign(assertionPayload{
		Issuer: a.client, Subject: a.client, Audience: issuer, ID: rand.Text(),
		Issued: now.Unix(), Expires: now.Add(assertionLifetime).Unix(),
	})
}
