package dpop

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/jwt"
	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// Algorithm is the name of the signature algorithm of the proofs of a Prover.
const Algorithm = jwt.ES256

// Prover proves possession of one key, to which tokens are bound. It is safe for
// concurrent use.
//
// The proof covers the method, the URL and the token of a request, not its body:
// there is no content_digest.
//
// Spec: RFC 9449 4
type Prover struct {
	key    *ecdsa.PrivateKey
	signer *jwt.Signer
	nonces *Nonces
}

var _ oauth.Prover = (*Prover)(nil)

// NewProver returns the prover of a new key.
func NewProver(n *Nonces) (*Prover, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("proof key: %w", err)
	}
	return proverOf(key, n)
}

// ParseProver returns the prover of a key in the format of Secret.
func ParseProver(secret oauth.Secret, n *Nonces) (*Prover, error) {
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

func proverOf(key *ecdsa.PrivateKey, n *Nonces) (*Prover, error) {
	signer, err := jwt.NewSigner(key, jwt.SignerOptions{Algorithm: Algorithm, Type: "dpop+jwt", EmbedKey: true})
	if err != nil {
		return nil, fmt.Errorf("proof key: %w", err)
	}
	return &Prover{key, signer, n}, nil
}

// Secret returns the private key, to be stored with the tokens that are bound to it.
func (p *Prover) Secret() (oauth.Secret, error) {
	der, err := x509.MarshalPKCS8PrivateKey(p.key)
	return oauth.Secret(base64.StdEncoding.EncodeToString(der)), err
}

// Thumbprint returns the JWK thumbprint, which identifies the key in tokens and
// in the dpop_jkt of an authorization request.
//
// Spec: RFC 7638 3; RFC 9449 6.1, 10
func (p *Prover) Thumbprint() string {
	thumbprint, err := jwt.NewKey(p.key.Public(), "", "").Thumbprint()
	if err != nil {
		panic("dpop: thumbprint of a P-256 key: " + err.Error())
	}
	return thumbprint
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
func (p *Prover) Proof(method, address string, access oauth.Secret) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("proof: want an absolute URL")
	}
	claims := proofPayload{ID: rand.Text(), Method: method, URL: proofURL(u), Issued: time.Now().Unix(), Nonce: p.nonces.of(u)}
	if access != "" {
		claims.Token = tokenHash(access.Reveal())
	}
	return p.signer.Sign(claims)
}

// Remember implements oauth.Prover.
func (p *Prover) Remember(address string, header http.Header) bool {
	u, err := url.Parse(address)
	return err == nil && p.nonces.Record(u, header)
}

// proofURL returns a URL in the form for proofs: without query and fragment.
func proofURL(u *url.URL) string {
	bare := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return bare.String()
}
