package mcpauth

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// Error codes of challenges.
//
// Spec: RFC 6750 3.1; RFC 9449 7.1, 9
const (
	codeInvalidRequest    = "invalid_request"
	codeInvalidToken      = "invalid_token"
	codeInsufficientScope = "insufficient_scope"
	codeInvalidProof      = "invalid_dpop_proof"
	codeUseNonce          = "use_dpop_nonce"

	statusInvalidToken = http.StatusUnauthorized
)

// Authentication schemes, as challenges write them.
const (
	schemeBearer = "Bearer"
	schemeProof  = "DPoP"
)

// denial is the reason why a request is refused.
type denial struct {
	status int
	code   string // for the challenge; empty: the request had no credentials
	reason string // for who sent it
	cause  error  // for the log
}

func (d *denial) Error() string {
	if d.cause != nil {
		return d.reason + ": " + d.cause.Error()
	}
	return d.reason
}

func (d *denial) Unwrap() error { return d.cause }

func invalidRequest(reason string) error {
	return &denial{status: http.StatusBadRequest, code: codeInvalidRequest, reason: reason}
}

func invalidToken(reason string) error {
	return &denial{status: statusInvalidToken, code: codeInvalidToken, reason: reason}
}

func invalidProof(reason string) error {
	return &denial{status: statusInvalidToken, code: codeInvalidProof, reason: reason}
}

func unavailable(cause error) error {
	return &denial{status: http.StatusServiceUnavailable, reason: "tokens cannot be verified now", cause: cause}
}

// asDenial converts an error to a denial.
func asDenial(err error) *denial {
	if d, ok := errors.AsType[*denial](err); ok {
		return d
	}
	return &denial{status: http.StatusServiceUnavailable, reason: "tokens cannot be verified now", cause: err}
}

// challenge formats a WWW-Authenticate header. Without a code it has no error
// parameter, as RFC 6750 wants for a request without credentials.
//
// Spec: RFC 6750 3; RFC 9728 5.1; RFC 9449 7.1; 2026-07-28 basic/authorization#scope-challenge-handling
func (r *Resource) challenge(scheme, code, reason string, scopes []string) string {
	params := []string{}
	add := func(name, value string) {
		if value != "" {
			params = append(params, name+"="+quoted(value))
		}
	}
	add("error", code)
	if code != "" {
		add("error_description", reason)
	}
	add("scope", strings.Join(scopes, " "))
	add("resource_metadata", r.metadataURL)
	if scheme == schemeProof {
		add("algs", strings.Join(r.algorithms.Names(), " "))
	}
	if len(params) == 0 {
		return scheme
	}
	return scheme + " " + strings.Join(params, ", ")
}

// challengeFor returns the function that formats challenges for scopes in the
// scheme.
func (r *Resource) challengeFor(scheme string) func(scopes []string) string {
	return func(scopes []string) string {
		return r.challenge(scheme, codeInsufficientScope, "the token lacks a scope", askedScopes(scopes))
	}
}

// askedScopes are the scopes that a challenge may name. offline_access is not
// among them, because a resource does not use refresh tokens.
//
// Spec: 2026-07-28 basic/authorization#refresh-tokens; RFC 6749 3.3
func askedScopes(scopes []string) []string {
	return slices.DeleteFunc(oauth.Scopes(scopes), func(s string) bool { return s == scopeOffline })
}

const scopeOffline = "offline_access"

// quoted writes a quoted-string. It omits characters that are not allowed in
// one.
//
// Spec: RFC 9110 5.6.4
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c < ' ' || c > '~':
			continue
		case c == '"' || c == '\\':
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	b.WriteByte('"')
	return b.String()
}
