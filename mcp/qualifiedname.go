package mcp

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
)

// qualifiedNameSeparator stands between the name of a server and that of a feature. Names of
// servers have no underscore, so the first one ends the name of the server.
const qualifiedNameSeparator = "__"

// maxQualifiedName is the length of names that every model API accepts.
const maxQualifiedName = 64

var serverNamePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// CheckServerName returns an error if a name is not valid for a server in QualifiedName: 1 to
// 32 of a-z, 0-9 and '-', beginning with a letter or digit.
func CheckServerName(name string) error {
	if serverNamePattern.MatchString(name) {
		return nil
	}
	return fmt.Errorf("name %q: want 1 to 32 of a-z, 0-9 and '-', beginning with a letter or digit", name)
}

// QualifiedName returns the name of a tool or prompt among those of several servers:
// server__name, in 1 to 64 characters of A-Z, a-z, 0-9, '_' and '-', as model APIs require. A
// name that does not fit is truncated and ends in 8 hex digits of its SHA-256. The result
// depends only on the arguments, so it is stable when servers are added. Names of two servers
// are never equal if CheckServerName accepts the servers.
func QualifiedName(server, name string) string {
	full := server + qualifiedNameSeparator + name
	valid := strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' {
			return c
		}
		return '_'
	}, full)
	if valid == full && len(full) <= maxQualifiedName {
		return full
	}
	digest := sha256.Sum256([]byte(full))
	suffix := fmt.Sprintf("_%x", digest[:4])
	return valid[:min(len(valid), maxQualifiedName-len(suffix))] + suffix
}

// CutQualifiedName splits a name of the form of QualifiedName after the name of the server.
// The name of the feature is the one at the server unless QualifiedName has changed or truncated
// it. It reports false if the name does not begin with one that CheckServerName accepts.
func CutQualifiedName(qualified string) (server, name string, ok bool) {
	server, name, found := strings.Cut(qualified, qualifiedNameSeparator)
	if !found || CheckServerName(server) != nil {
		return "", "", false
	}
	return server, name, true
}
