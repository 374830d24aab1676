package mcpauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json/v2"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/cryptosigner"
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
	signer jose.Signer
}

func newAssertions(client string, k *PrivateKey) (*assertions, error) {
	algorithm, err := k.algorithm()
	if err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	options := new(jose.SignerOptions).WithType("JWT")
	if k.ID != "" {
		options = options.WithHeader("kid", k.ID)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: cryptosigner.Opaque(k.Signer)}, options)
	if err != nil {
		return nil, fmt.Errorf("private key: algorithm %s: want one for this type of key", algorithm)
	}
	return &assertions{client, signer}, nil
}

// algorithm returns the signature algorithm of the key.
func (k *PrivateKey) algorithm() (jose.SignatureAlgorithm, error) {
	if k.Signer == nil {
		return "", fmt.Errorf("want a Signer")
	}
	algorithm := jose.SignatureAlgorithm(k.Algorithm)
	if algorithm == "" {
		algorithm = usualAlgorithm(k.Signer.Public())
	}
	if !slices.Contains(signatureAlgorithms, algorithm) {
		return "", fmt.Errorf("algorithm %q of a %T: want one of %v", algorithm, k.Signer.Public(), signatureAlgorithms)
	}
	return algorithm, nil
}

// usualAlgorithm returns the algorithm that most servers accept for a key.
//
// Spec: RFC 7518 3.1; RFC 8037 3.1
func usualAlgorithm(public crypto.PublicKey) jose.SignatureAlgorithm {
	switch key := public.(type) {
	case *rsa.PublicKey:
		return jose.RS256
	case ed25519.PublicKey:
		return jose.EdDSA
	case *ecdsa.PublicKey:
		return map[int]jose.SignatureAlgorithm{256: jose.ES256, 384: jose.ES384, 521: jose.ES512}[key.Params().BitSize]
	}
	return ""
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
	return signClaims(a.signer, assertionPayload{
		Issuer: a.client, Subject: a.client, Audience: issuer, ID: rand.Text(),
		Issued: now.Unix(), Expires: now.Add(assertionLifetime).Unix(),
	})
}

// signClaims returns a JWT of claims.
func signClaims(signer jose.Signer, claims any) (string, error) {
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", fmt.Errorf("sign: %w", err)
	}
	return signed.CompactSerialize()
}
