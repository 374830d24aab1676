package mcpauth

import (
	"net/http"
	"strings"
)

// credentials is the parsed Authorization header of a request.
type credentials struct {
	scheme string // schemeBearer or schemeProof
	token  string
}

// errNoCredentials refuses a request without credentials. It has no error code,
// because the client may not know that it needs them.
//
// Spec: RFC 6750 3.1
var errNoCredentials = &denial{status: http.StatusUnauthorized, reason: "an access token is needed"}

// readCredentials reads the token from the Authorization header, which must
// occur at most once. It reads tokens from nowhere else; a token in the query,
// which would be logged, is an error.
//
// Spec: RFC 6750 2.1; RFC 9449 7.1; 2026-07-28 basic/authorization#token-requirements
func readCredentials(r *http.Request) (credentials, error) {
	if r.URL != nil && r.URL.Query().Has("access_token") {
		return credentials{}, invalidRequest("access token in the query: want it in the Authorization header")
	}
	headers := r.Header["Authorization"]
	switch len(headers) {
	case 0:
		return credentials{}, errNoCredentials
	case 1:
		return parseAuthorization(headers[0])
	}
	return credentials{}, invalidRequest("more than one Authorization header: want one")
}

// parseAuthorization parses an Authorization header. Unsupported schemes count
// as no credentials.
//
// Spec: RFC 9110 11.4; RFC 6750 2.1
func parseAuthorization(value string) (credentials, error) {
	scheme, token, _ := strings.Cut(value, " ")
	c := credentials{token: strings.TrimLeft(token, " ")}
	switch {
	case strings.EqualFold(scheme, schemeBearer):
		c.scheme = schemeBearer
	case strings.EqualFold(scheme, schemeProof):
		c.scheme = schemeProof
	default:
		return credentials{}, errNoCredentials
	}
	if !isToken68(c.token) {
		return credentials{}, invalidRequest("malformed Authorization header: want a scheme, a space and a token")
	}
	return c, nil
}

// isToken68 reports whether s has the form of a token.
//
// Spec: RFC 9110 11.2
func isToken68(s string) bool {
	s = strings.TrimRight(s, "=")
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-._~+/", c)
	})
}
