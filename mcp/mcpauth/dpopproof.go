package mcpauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// proofAlgorithm is the signature algorithm of our proofs.
const proofAlgorithm = jose.ES256

// prover proves possession of one key, to which tokens are bound. It is safe for
// concurrent use.
//
// The proof covers the method, the URL and the token of a request, not its body:
// there is no content_digest.
//
// Spec: RFC 9449 4
type prover struct {
	key    *ecdsa.PrivateKey
	signer jose.Signer
	nonces *nonces
}

var _ oauth.Prover = (*prover)(nil)

// newProver returns the prover of a new key.
func newProver(n *nonces) (*prover, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("proof key: %w", err)
	}
	return proverOf(key, n)
}

// parseProver returns the prover of a key in the format of secret.
func parseProver(secret oauth.Secret, n *nonces) (*prover, error) {
	der, err := base64.StdEncoding.DecodeString(secret.Reveal())
	if err != nil {
		return nil, errors.New("proof key: want base64")
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, errors.New("proof key: want PKCS #8")
	}
	ec, ok := key.(*ecdsa.PrivateKey)
	if !ok || ec.Curve != elliptic.P256() {
		return nil, errors.New("proof key: want one of the curve P-256")
	}
	return proverOf(ec, n)
}

func proverOf(key *ecdsa.PrivateKey, n *nonces) (*prover, error) {
	options := &jose.SignerOptions{EmbedJWK: true}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: proofAlgorithm, Key: key}, options.WithType("dpop+jwt"))
	if err != nil {
		return nil, fmt.Errorf("proof key: %w", err)
	}
	return &prover{key, signer, n}, nil
}

// secret returns the private key, to be stored with the tokens that are bound to it.
func (p *prover) secret() (oauth.Secret, error) {
	der, err := x509.MarshalPKCS8PrivateKey(p.key)
	return oauth.Secret(base64.StdEncoding.EncodeToString(der)), err
}

// thumbprint returns the JWK thumbprint, which identifies the key in tokens and
// in the dpop_jkt of an authorization request.
//
// Spec: RFC 7638 3; RFC 9449 6.1, 10
func (p *prover) thumbprint() string {
	key := jose.JSONWebKey{Key: p.key.Public()}
	sum, err := key.Thumbprint(crypto.SHA256)
	if err != nil {
		panic("mcpauth: thumbprint of a P-256 key: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(sum)
}

// proofPayload is the payload of a proof.
//
// Spec: RFC 9449 4.2
type proofPayload struct {
	ID     string `json:"jti"`
	Method string `json:"htm"`
	URL    string `json:"htu"`
	Issued int64  `json:"iat"`
	Token  string `json:"ath,omitzero"`
	Nonce  string `json:"nonce,omitzero"`
}

// Proof implements oauth.Prover.
func (p *prover) Proof(method, address string, access oauth.Secret) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("proof: want an absolute URL")
	}
	claims := proofPayload{ID: rand.Text(), Method: method, URL: proofURL(u), Issued: time.Now().Unix(), Nonce: p.nonces.of(u)}
	if access != "" {
		sum := sha256.Sum256([]byte(access.Reveal()))
		claims.Token = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return signClaims(p.signer, claims)
}

// Remember implements oauth.Prover.
func (p *prover) Remember(address string, header http.Header) bool {
	u, err := url.Parse(address)
	return err == nil && p.nonces.record(u, header)
}

// proofURL returns a URL in the form for proofs: without query and fragment.
func proofURL(u *url.URL) string {
	bare := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return bare.String()
}
