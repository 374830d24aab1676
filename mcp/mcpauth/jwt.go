package mcpauth

import (
	"context"
	"encoding/json/v2"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/jwt"
	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// tokenVerifier verifies a token. Resource.checkToken checks its result in addition.
type tokenVerifier interface {
	verify(ctx context.Context, token string) (*Token, error)
}

// jwtRules are the rules for the JWTs of all issuers.
type jwtRules struct {
	algorithms jwt.Algorithms
	types      []string // of which typ is one, as jwt.MediaType writes them
	skew       time.Duration
}

// jwtIssuer verifies the JWTs of one issuer.
type jwtIssuer struct {
	issuer string
	rules  jwtRules
	keys   *jwt.KeySet
}

var _ tokenVerifier = (*jwtIssuer)(nil)

// verify checks type, signature, issuer and times of a JWT.
//
// Spec: RFC 9068 4; RFC 8725 3
func (i *jwtIssuer) verify(ctx context.Context, token string) (*Token, error) {
	payload, err := i.open(ctx, token)
	if err != nil {
		return nil, err
	}
	var c claims
	if json.Unmarshal(payload, &c) != nil {
		return nil, invalidToken("the claims of the token are malformed")
	}
	if !oauth.SameIdentifier(c.Issuer, i.issuer) {
		return nil, invalidToken("the token is of another issuer")
	}
	c.Issuer = i.issuer // one principal, whichever spelling the token has
	if c.Expires == nil {
		return nil, invalidToken("the token does not say when it expires")
	}
	if err := c.checkTimes(time.Now(), i.rules.skew); err != nil {
		return nil, err
	}
	return c.token(payload)
}

// open verifies the signature of a JWT by the issuer's keys and returns the
// payload.
func (i *jwtIssuer) open(ctx context.Context, token string) ([]byte, error) {
	signed, err := jwt.Parse(token, i.rules.algorithms)
	if err != nil {
		return nil, invalidToken("the token is " + err.Error())
	}
	if !slices.Contains(i.rules.types, signed.Header.Type) {
		return nil, invalidToken("the token is of another type")
	}
	keys, err := i.keys.Find(ctx, signed.Header)
	if errors.Is(err, jwt.ErrUnknownKey) {
		return nil, invalidToken("the token is signed by a key that its issuer does not have")
	}
	if err != nil {
		return nil, unavailable(err)
	}
	payload, err := signed.Verify(keys...)
	if err != nil {
		return nil, invalidToken("the signature of the token does not fit")
	}
	return payload, nil
}

// claimedIssuer returns the issuer that a token names, if it looks like a JWT.
// It is not verified; it only selects the keys for the verification.
func claimedIssuer(token string) string {
	parts := strings.SplitN(token, ".", 4)
	if len(parts) != 3 {
		return ""
	}
	payload, err := jwt.Decode(parts[1])
	if err != nil {
		return ""
	}
	var c struct {
		Issuer string `json:"iss"`
	}
	if json.Unmarshal(payload, &c) != nil {
		return ""
	}
	return c.Issuer
}
