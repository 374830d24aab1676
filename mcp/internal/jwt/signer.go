package jwt

import (
	"crypto"
	"encoding/json/v2"
	"fmt"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/cryptosigner"
)

// Signer signs JWTs with one key. It is safe for concurrent use if the key is.
type Signer struct{ signer jose.Signer }

// SignerOptions set the headers of the JWTs of a Signer.
type SignerOptions struct {
	Algorithm string // one of AllAlgorithms
	Type      string // typ
	KeyID     string // kid; empty: none
	EmbedKey  bool   // put the public key in the header (jwk)
}

// NewSigner returns a signer. It fails if the algorithm does not fit the key.
func NewSigner(key crypto.Signer, o SignerOptions) (*Signer, error) {
	options := (&jose.SignerOptions{EmbedJWK: o.EmbedKey}).WithType(jose.ContentType(o.Type))
	if o.KeyID != "" {
		options = options.WithHeader("kid", o.KeyID)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(o.Algorithm), Key: cryptosigner.Opaque(key)}, options)
	if err != nil {
		return nil, fmt.Errorf("algorithm %s: want one for this type of key", o.Algorithm)
	}
	return &Signer{signer}, nil
}

// Sign returns a JWT of claims in compact form.
func (s *Signer) Sign(claims any) (string, error) {
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	signed, err := s.signer.Sign(payload)
	if err != nil {
		return "", fmt.Errorf("sign: %w", err)
	}
	return signed.CompactSerialize()
}
