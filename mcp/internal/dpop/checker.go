package dpop

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/egress"
	"github.com/fondaco/fondaco/mcp/internal/jwt"
	"github.com/fondaco/fondaco/mcp/internal/seal"
)

// DefaultWindow is the usual window of a Checker.
const DefaultWindow = 5 * time.Minute

// Limits of proofs.
const (
	maxProof   = 8 << 10
	maxProofID = 256
)

// nonceBinding distinguishes nonces from other values that the same keys seal.
var nonceBinding = []byte("dpop nonce")

// Errors of Checker.Check. All its other errors mean an invalid proof. The texts are for who sent
// the request, and repeat nothing of it.
var (
	// ErrNonce means that the proof lacks the nonce that the response has.
	ErrNonce = errors.New("the proof needs the nonce of this answer")
	// ErrFull means that no further proof can be stored now.
	ErrFull = errors.New("the memory for proofs is full")
	// ErrStore means that it is not known whether another process has accepted the proof. Its text
	// has that of the store, so it is not for who sent the request.
	ErrStore = errors.New("the store of used proofs")
)

// CheckerOptions are the rules of a Checker.
type CheckerOptions struct {
	// Resource is the identifier of the server.
	Resource *url.URL
	// Algorithms are those that proofs may have.
	Algorithms jwt.Algorithms
	// Window is the maximum difference between the time of a proof and ours, and how long a
	// nonce is valid.
	Window time.Duration
	// Nonces encrypts the nonces that proofs must have. Nil: nonces are not required.
	Nonces *seal.Ring
	// Store has the proofs that all processes have accepted. Nil: this process alone.
	Store mcp.Store
}

// Checker checks that the sender of a bound token has its key. It is safe
// for concurrent use.
type Checker struct {
	resource   string // canonical, without query
	origin     string // of the resource
	algorithms jwt.Algorithms
	window     time.Duration
	nonces     *seal.Ring
	seen       *proofMemory
	shared     *sharedProofs // nil: there are no other processes
}

// NewChecker returns a checker that has seen no proofs.
func NewChecker(o CheckerOptions) *Checker {
	origin := egress.Origin(o.Resource)
	c := &Checker{
		resource:   egress.CanonicalURL(origin + o.Resource.EscapedPath()),
		origin:     origin,
		algorithms: o.Algorithms,
		window:     o.Window,
		nonces:     o.Nonces,
		seen:       newProofMemory(2 * o.Window),
	}
	if o.Store != nil {
		c.shared = &sharedProofs{store: o.Store, life: 2*o.Window + clockMargin}
	}
	return c
}

// proofClaims are the payload of a proof.
//
// Spec: RFC 9449 4.2
type proofClaims struct {
	ID        string    `json:"jti"`
	Method    string    `json:"htm"`
	URL       string    `json:"htu"`
	IssuedAt  *jwt.Date `json:"iat"`
	TokenHash string    `json:"ath"`
	Nonce     string    `json:"nonce"`
}

// Check verifies the proof of a request with a token, which is bound to the key with the
// thumbprint. The header is that of the response, to which Check may add a nonce.
//
// Spec: RFC 9449 7.1, 7.2
func (c *Checker) Check(answer http.Header, r *http.Request, token, thumbprint string) error {
	claims, err := c.open(r, thumbprint)
	if err != nil {
		return err
	}
	if err := c.checkClaims(claims, r, token, time.Now()); err != nil {
		return err
	}
	if c.nonces != nil {
		answer.Set(HeaderNonce, c.nonces.Seal(nil, nonceBinding, time.Now().Add(c.window)))
		if _, err := c.nonces.Open(claims.Nonce, nonceBinding, time.Now()); err != nil {
			return ErrNonce
		}
	}
	return c.checkUnused(r.Context(), thumbprint, claims.ID)
}

// open returns the claims of the proof of a request. The key with the
// thumbprint must have signed it.
//
// Spec: RFC 9449 4.3
func (c *Checker) open(r *http.Request, thumbprint string) (*proofClaims, error) {
	proofs := r.Header[headerProofKey]
	if len(proofs) != 1 || len(proofs[0]) > maxProof {
		return nil, errors.New("want one DPoP header with a proof")
	}
	signed, err := jwt.Parse(proofs[0], c.algorithms)
	if err != nil {
		return nil, errors.New("the proof is " + err.Error())
	}
	if signed.Header.Type != "dpop+jwt" {
		return nil, errors.New("the proof is of another type: want dpop+jwt")
	}
	key, ok := signed.HeaderKey()
	if !ok {
		return nil, errors.New("want the public key in the header of the proof")
	}
	if own, err := key.Thumbprint(); err != nil || own != thumbprint {
		return nil, errors.New("the proof is of another key than the token is bound to")
	}
	if !key.Supports(signed.Header.Algorithm) {
		return nil, errors.New("the algorithm of the proof does not fit its key")
	}
	payload, err := signed.Verify(key)
	if err != nil {
		return nil, errors.New("the signature of the proof does not fit")
	}
	var claims proofClaims
	if json.Unmarshal(payload, &claims) != nil {
		return nil, errors.New("the claims of the proof are malformed")
	}
	return &claims, nil
}

// headerProofKey is HeaderProof in the canonical form of net/http.
var headerProofKey = http.CanonicalHeaderKey(HeaderProof)

// checkClaims compares a proof with the request and the token that it is for.
func (c *Checker) checkClaims(claims *proofClaims, r *http.Request, token string, now time.Time) error {
	switch {
	case claims.ID == "" || len(claims.ID) > maxProofID:
		return errors.New("want an id (jti) in the proof")
	case claims.Method != r.Method:
		return errors.New("the proof is for another method")
	case !c.isTarget(claims.URL, r):
		return errors.New("the proof is for another URL")
	case claims.TokenHash != tokenHash(token):
		return errors.New("the proof is for another token")
	case claims.IssuedAt == nil || !claims.IssuedAt.InRange() || now.Sub(claims.IssuedAt.Time()).Abs() > c.window:
		return errors.New("the proof was not made just now")
	}
	return nil
}

// isTarget reports whether a proof is for the URL of the request. Scheme and
// host must be those of the resource identifier. The path must be that of the
// request or, for proxies that change paths, that of the identifier. The query
// is ignored.
func (c *Checker) isTarget(text string, r *http.Request) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	u.RawQuery, u.ForceQuery, u.Fragment = "", false, ""
	target := egress.CanonicalURL(u.String())
	return target == c.resource || target == egress.CanonicalURL(c.origin+r.URL.EscapedPath())
}

// checkUnused accepts each proof once. The memory of this process comes first: it bounds what one
// process adds to the store, and a proof that was sent to it twice costs no operation there.
func (c *Checker) checkUnused(ctx context.Context, thumbprint, id string) error {
	digest := proofDigest(thumbprint, id)
	switch c.seen.add(thumbprint, digest, time.Now()) {
	case proofUsed:
		return errUsed
	case proofNoRoom:
		return ErrFull
	}
	if c.shared == nil {
		return nil
	}
	switch first, err := c.shared.add(ctx, digest); {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrStore, err)
	case !first:
		return errUsed
	}
	return nil
}

var errUsed = errors.New("the proof was used before")

// tokenHash is the ath of a token.
//
// Spec: RFC 9449 4.2
func tokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
