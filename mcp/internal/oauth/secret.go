package oauth

import (
	"crypto/subtle"
	"fmt"
	"log/slog"
)

// Secret is a token, a password or an assertion. Printing, logging or encoding
// it yields "[redacted]" and never its value.
type Secret string

const redacted = "[redacted]"

// Reveal returns the value of the secret, to send or encrypt it.
func (s Secret) Reveal() string { return string(s) }

// Equal compares two secrets in a time that depends only on their lengths.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s), []byte(other)) == 1
}

// String returns "[redacted]", or "" for the empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString is String.
func (s Secret) GoString() string { return s.String() }

// Format prints String for every verb except %p, for which fmt does not call
// it; go vet reports that one.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// LogValue is String.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText is String, in JSON as well.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON is String.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }
