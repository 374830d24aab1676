package host

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
)

// separator stands between the key of an upstream and the name of a feature in a wire
// name. Keys have no underscore, so the first one ends the key.
const separator = "__"

// maxWireName is the length of names that every model API accepts.
const maxWireName = 64

var (
	keyPattern   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)
	invalidChars = regexp.MustCompile(`[^A-Za-z0-9_-]`)
)

// CheckKey returns an error if the key of an upstream is invalid.
func CheckKey(key string) error {
	if keyPattern.MatchString(key) {
		return nil
	}
	return fmt.Errorf("name %q: want 1 to 32 of a-z, 0-9 and '-', beginning with a letter or digit", key)
}

// WireName returns the name under which clients see a tool or prompt of an upstream:
// key__name, in at most 64 characters of A-Z, a-z, 0-9, '_' and '-'. A name that does not
// fit is cut and ends in 8 hex digits of its digest. The result depends only on key and
// name, so it is stable when other upstreams are added.
func WireName(key, name string) string {
	full := key + separator + name
	valid := invalidChars.ReplaceAllString(full, "_")
	if valid == full && len(full) <= maxWireName {
		return full
	}
	digest := sha256.Sum256([]byte(full))
	suffix := fmt.Sprintf("_%x", digest[:4])
	return valid[:min(len(valid), maxWireName-len(suffix))] + suffix
}

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
	key, name, ok := strings.Cut(wire, separator)
	if !ok || CheckKey(key) != nil {
		return wire
	}
	return key + "/" + name
}

// KeyOf returns the key in a wire name, or the empty string if there is none.
func KeyOf(wire string) string {
	key, _, ok := strings.Cut(wire, separator)
	if !ok || CheckKey(key) != nil {
		return ""
	}
	return key
}
