package oauth

import (
	"slices"
	"strings"
)

const maxScopes = 256

// ParseScope returns the scopes of a scope parameter, without duplicates. Some servers put commas
// between scopes.
//
// Spec: RFC 6749 3.3
func ParseScope(text string) []string {
	return Scopes(strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == ',' }))
}

// Scopes returns those of the values that are valid scopes, in order and
// without duplicates, 256 at most. It is for lists from a peer, which may hold
// any text.
func Scopes(values []string) []string {
	var scopes []string
	for _, v := range values {
		if IsScope(v) && !slices.Contains(scopes, v) && len(scopes) < maxScopes {
			scopes = append(scopes, v)
		}
	}
	return scopes
}

// IsScope reports whether text is one scope: 1 to 256 visible ASCII characters
// except quote and backslash.
//
// Spec: RFC 6749 3.3
func IsScope(text string) bool {
	return text != "" && len(text) <= 256 && span(text, isScopeByte) == len(text)
}

func isScopeByte(c byte) bool { return '!' <= c && c <= '~' && c != '"' && c != '\\' }
