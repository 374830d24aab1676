package oauth

import (
	"slices"
	"strings"
)

const maxScopes = 256

// ParseScope returns the scopes of a scope parameter, each once.
//
// Spec: RFC 6749 3.3
func ParseScope(text string) []string { return Scopes(strings.Split(text, " ")) }

// Scopes returns those of the values that are scopes, each once and in order, the
// first 256 of them. What a peer lists may hold anything.
func Scopes(values []string) []string {
	var scopes []string
	for _, v := range values {
		if IsScope(v) && !slices.Contains(scopes, v) && len(scopes) < maxScopes {
			scopes = append(scopes, v)
		}
	}
	return scopes
}

// IsScope reports whether text is one scope: visible ASCII characters but quote
// and backslash, at most 256 of them.
//
// Spec: RFC 6749 3.3
func IsScope(text string) bool {
	return text != "" && len(text) <= 256 && span(text, isScopeByte) == len(text)
}

func isScopeByte(c byte) bool { return '!' <= c && c <= '~' && c != '"' && c != '\\' }
