package mcpauth

import (
	"context"
	"encoding/json/jsontext"
	"slices"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/egress"
)

// Token describes a verified access token. It does not contain the token
// itself, which must not be sent to another server than the one that it was
// issued for. It must not be changed once it is in a context.
//
// Spec: 2026-07-28 basic/authorization/security-considerations#access-token-privilege-restriction
type Token struct {
	// Issuer issued the token. It is never empty.
	Issuer string
	// Subject is the user, or the client if it acts for itself. It is never
	// empty.
	Subject string
	// Client is the program that acts for the subject, or empty if it is
	// unknown.
	Client string
	// Audience are the servers that the token is for.
	Audience []string
	// Scopes are the granted scopes, without those that ScopeIncludes adds.
	Scopes []string
	// Expires is when the token expires, or zero if it does not say.
	Expires time.Time
	// ProofKey is the thumbprint (jkt) of the key that the token is bound to,
	// or empty. The sender of a bound token must prove that it has the key.
	ProofKey string
	// Claims is the JSON object with all claims: the payload of a JWT, or the
	// introspection response.
	Claims jsontext.Value
}

type tokenKey struct{}

// TokenFrom returns the Token of the request that the context belongs to, or
// nil if there is none.
func TokenFrom(ctx context.Context) *Token {
	t, _ := ctx.Value(tokenKey{}).(*Token)
	return t
}

// checkToken checks issuer, subject, audience and expiry of a token, whichever way
// it was verified. No option disables it.
//
// Spec: RFC 9068 4; RFC 8707 2; 2026-07-28 basic/authorization#token-handling
func (r *Resource) checkToken(t *Token, now time.Time) error {
	switch {
	case t == nil:
		return invalidToken("the token is not known")
	case t.Issuer == "" || t.Subject == "":
		return invalidToken("the token does not say whose it is")
	case !slices.ContainsFunc(t.Audience, r.isAudience):
		return invalidToken("the token is for another audience")
	case !t.Expires.IsZero() && !now.Before(t.Expires.Add(r.skew)):
		return invalidToken("the token has expired")
	}
	return nil
}

// isAudience compares whole identifiers, because a prefix of ours identifies
// another server.
func (r *Resource) isAudience(aud string) bool {
	return slices.Contains(r.audiences, egress.CanonicalURL(aud))
}
