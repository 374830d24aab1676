package host

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
)

// separator stands between the key of an upstream and the name of a feature on
// the wire. Keys hold no underscore, so the first one ends the key.
const separator = "__"

// maxName bounds the names that every model API takes.
const maxName = 64

var (
	upstreamKey = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)
	foreign     = regexp.MustCompile(`[^A-Za-z0-9_-]`)
)

// CheckKey reports what is wrong with the key of an upstream.
func CheckKey(key string) error {
	if upstreamKey.MatchString(key) {
		return nil
	}
	return fmt.Errorf("name %q: want 1 to 32 of a-z, 0-9 and '-', beginning with a letter or digit", key)
}

// WireName returns the name under which clients see a tool or prompt of an
// upstream: key__name, in at most 64 characters of A-Z, a-z, 0-9, '_' and '-'. A
// name that does not fit is cut, and ends in 8 hex digits of its digest. It
// depends on nothing else, so a name stays what it is whatever other upstreams
// there are.
func WireName(key, name string) string {
	whole := key + separator + name
	fitting := foreign.ReplaceAllString(whole, "_")
	if fitting == whole && len(whole) <= maxName {
		return whole
	}
	digest := sha256.Sum256([]byte(whole))
	suffix := fmt.Sprintf("_%x", digest[:4])
	return fitting[:min(len(fitting), maxName-len(suffix))] + suffix
}

// ParseName returns the wire name of what a person wrote: key/name, or the wire
// name itself.
func ParseName(written string) string {
	key, name, ok := strings.Cut(written, "/")
	if !ok || CheckKey(key) != nil {
		return written
	}
	return WireName(key, name)
}

// ShowName writes a wire name as key/name, which ParseName takes.
func ShowName(wire string) string {
	key, name, ok := strings.Cut(wire, separator)
	if !ok || CheckKey(key) != nil {
		return wire
	}
	return key + "/" + name
}

// KeyOf returns the key of the upstream that a wire name belongs to, or the empty
// string when it belongs to none.
func KeyOf(wire string) string {
	key, _, ok := strings.Cut(wire, separator)
	if !ok || CheckKey(key) != nil {
		return ""
	}
	return key
}
