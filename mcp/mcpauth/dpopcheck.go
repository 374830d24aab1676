package mcpauth

import (
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json/v2"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/fondaco/fondaco/mcp/internal/seal"
)

// Headers of DPoP.
//
// Spec: RFC 9449 4.1, 8.1
const (
	headerProof = "DPoP"
	headerNonce = "DPoP-Nonce"
)

// Limits of proofs.
const (
	// proofWindow is the maximum difference between the time of a proof and
	// ours, and how long a nonce is valid.
	proofWindow = 5 * time.Minute
	maxProof    = 8 << 10
	maxProofID  = 256
)

// nonceBinding distinguishes nonces from other values that the same keys seal.
var nonceBinding = []byte("dpop nonce")

// proofChecker checks that the sender of a bound token has its key. It is safe
// for concurrent use.
//
// Spec: RFC 9449
type proofChecker struct {
	resource   string // canonical, without query
	origin     string // of the resource
	required   bool
	algorithms []jose.SignatureAlgorithm
	window     time.Duration
	nonces     *seal.Ring // nil: nonces are not required
	seen       *proofMemory
}

// proofClaims are the payload of a proof.
//
// Spec: RFC 9449 4.2
type proofClaims struct {
	ID        string       `json:"jti"`
	Method    string       `json:"htm"`
	URL       string       `json:"htu"`
	IssuedAt  *numericDate `json:"iat"`
	TokenHash string       `json:"ath"`
	Nonce     string       `json:"nonce"`
}

// check verifies the proof of a request. A bound token needs a proof, and a
// proof needs a bound token. The header is that of the response, to which check
// may add a nonce.
//
// Spec: RFC 9449 7.1, 7.2
func (p *proofChecker) check(answer http.Header, r *http.Request, c credentials, t *Token) error {
	switch {
	case t.ProofKey == "" && p.required:
		return invalidToken("the token is not bound to a key: want one that is")
	case t.ProofKey == "" && c.scheme == schemeProof:
		return invalidToken("the token is not bound to a key: send it as Bearer")
	case t.ProofKey == "":
		return nil
	case c.scheme != schemeProof:
		return invalidToken("the token is bound to a key: send it as DPoP, with a proof")
	}
	claims, err := p.open(r, t.ProofKey)
	if err != nil {
		return err
	}
	if err := p.checkClaims(claims, r, c.token, time.Now()); err != nil {
		return err
	}
	if p.nonces != nil {
		answer.Set(headerNonce, p.nonces.Seal(nil, nonceBinding, time.Now().Add(p.window)))
		if _, err := p.nonces.Open(claims.Nonce, nonceBinding, time.Now()); err != nil {
			return &denial{status: statusInvalidToken, code: codeUseNonce, reason: "the proof needs the nonce of this answer"}
		}
	}
	return p.checkUnused(t.ProofKey, claims.ID, time.Now())
}

// open returns the claims of the proof of a request. The key with the
// thumbprint must have signed it.
//
// Spec: RFC 9449 4.3
func (p *proofChecker) open(r *http.Request, thumbprint string) (*proofClaims, error) {
	proofs := r.Header[headerProofKey]
	if len(proofs) != 1 || len(proofs[0]) > maxProof {
		return nil, invalidProof("want one DPoP header with a proof")
	}
	signed, err := parseJWS(proofs[0], p.algorithms)
	if err != nil {
		return nil, invalidProof("the proof is " + err.Error())
	}
	if mediaType(signed.header.Type) != "dpop+jwt" {
		return nil, invalidProof("the proof is of another type: want dpop+jwt")
	}
	key := signed.signed.Signatures[0].Protected.JSONWebKey
	if key == nil || !isForSignatures(key) {
		return nil, invalidProof("want the public key in the header of the proof")
	}
	if sum, err := key.Thumbprint(crypto.SHA256); err != nil || base64.RawURLEncoding.EncodeToString(sum) != thumbprint {
		return nil, invalidProof("the proof is of another key than the token is bound to")
	}
	own := verificationKey{public: key.Key}
	if !own.supports(signed.header.Algorithm) {
		return nil, invalidProof("the algorithm of the proof does not fit its key")
	}
	payload, err := signed.verify([]verificationKey{own})
	if err != nil {
		return nil, invalidProof("the signature of the proof does not fit")
	}
	var claims proofClaims
	if json.Unmarshal(payload, &claims) != nil {
		return nil, invalidProof("the claims of the proof are malformed")
	}
	return &claims, nil
}

// headerProofKey is headerProof in the canonical form of net/http.
var headerProofKey = http.CanonicalHeaderKey(headerProof)

// checkClaims compares a proof with the request and the token that it is for.
func (p *proofChecker) checkClaims(claims *proofClaims, r *http.Request, token string, now time.Time) error {
	switch {
	case claims.ID == "" || len(claims.ID) > maxProofID:
		return invalidProof("want an id (jti) in the proof")
	case claims.Method != r.Method:
		return invalidProof("the proof is for another method")
	case !p.isTarget(claims.URL, r):
		return invalidProof("the proof is for another URL")
	case claims.TokenHash != tokenHash(token):
		return invalidProof("the proof is for another token")
	case claims.IssuedAt == nil || !claims.IssuedAt.inRange() || now.Sub(claims.IssuedAt.time()).Abs() > p.window:
		return invalidProof("the proof was not made just now")
	}
	return nil
}

// isTarget reports whether a proof is for the URL of the request. Scheme and
// host must be those of the resource identifier. The path must be that of the
// request or, for proxies that change paths, that of the identifier. The query
// is ignored.
func (p *proofChecker) isTarget(text string, r *http.Request) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	u.RawQuery, u.ForceQuery, u.Fragment = "", false, ""
	target := canonicalURL(u.String())
	return target == p.resource || target == canonicalURL(p.origin+r.URL.EscapedPath())
}

// checkUnused accepts each proof once.
func (p *proofChecker) checkUnused(thumbprint, id string, now time.Time) error {
	switch p.seen.add(thumbprint, id, now) {
	case proofUsed:
		return invalidProof("the proof was used before")
	case proofNoRoom:
		return unavailable(errors.New("the memory for proofs is full"))
	}
	return nil
}

func (p *proofChecker) algorithmNames() (names []string) {
	for _, a := range p.algorithms {
		names = append(names, string(a))
	}
	return names
}

// tokenHash is the ath of a token.
//
// Spec: RFC 9449 4.2
func tokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
