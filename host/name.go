package host

import (
	"strings"

	"github.com/fondaco/fondaco/mcp"
)

// CheckKey returns an error if the key of an upstream is invalid.
func CheckKey(key string) error { return mcp.CheckServerName(key) }

// WireName returns the name under which clients see a tool or prompt of an upstream, see
// mcp.QualifiedName.
func WireName(key, name string) string { return mcp.QualifiedName(key, name) }

// ParseName returns the wire name for a name that a user typed: key/name, or the wire
// name itself.
func ParseName(written string) string {
	key, name, ok := strings.Cut(written, "/")
	if !ok || CheckKey(key) != nil {
		return written
	}
	return WireName(key, name)
}

// DisplayName returns a wire name as key/name, which ParseName accepts.
func DisplayName(wire string) string {
	key, name, ok := mcp.CutQualifiedName(wire)
	if !ok {
		return wire
	}
	return key + "/" + name
}

// KeyOf returns the key in a wire name, or the empty string if there is none.
func KeyOf(wire string) string {
	key, _, _ := mcp.CutQualifiedName(wire)
	return key
}
