package mcpauth

import (
	"context"
	"encoding/json/jsontext"
	"slices"
	"time"
)

// Token is what is known about an access token that was verified. It does not
// hold the token, which must not travel further than the server that it was
// issued for. It is not changed once it is in a context.
//
// Spec: 2026-07-28 basic/authorization/security-considerations#access-token-privilege-restriction
type Token struct {
	// Issuer vouches for the rest. It is never empty.
	Issuer string
	// Subject is the user, or the client that acts for itself. It is never empty.
	Subject string
	// Client is the program that acts for the subject. Empty: it is not known.
	Client string
	// Audience are the servers that the token is for.
	Audience []string
	// Scopes are what was granted, without what these include.
	Scopes []string
	// Expires is when the token ends. Zero: it does not say.
	Expires time.Time
	// ProofKey is the thumbprint (jkt) of the key that the token is bound to.
	// Whoever uses it has to prove that they hold the key. Empty: no key.
	ProofKey string
	// Claims is the JSON object with all that the issuer says: the payload of a
	// JWT, or the answer of its introspection.
	Claims jsontext.Value
}

type tokenKey struct{}

// TokenFrom returns what is known about the access token of the request that
// the context belongs to, or nil when none was verified.
func TokenFrom(ctx context.Context) *Token {
	t, _ := ctx.Value(tokenKey{}).(*Token)
	return t
}

// judge decides about a token that has been verified in whichever way. No option
// switches it off.
//
// Spec: RFC 9068 4; RFC 8707 2; 2026-07-28 basic/authorization#token-handling
func (r *Resource) judge(t *Token, now time.Time) error {
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

// isAudience compares whole identifiers: a prefix of ours is another server.
func (r *Resource) isAudience(aud string) bool {
	return slices.Contains(r.audiences, canonicalURL(aud))
}
