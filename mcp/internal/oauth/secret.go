package oauth

import (
	"crypto/subtle"
	"fmt"
	"log/slog"
)

// Secret is a token, a password or an assertion. However it is printed, logged or
// encoded, what comes out is that there is one, and not which.
type Secret string

const redacted = "[redacted]"

// Reveal returns the secret itself, to be sent or sealed.
func (s Secret) Reveal() string { return string(s) }

// Equal compares two secrets in a time that depends on their lengths alone.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s), []byte(other)) == 1
}

// String returns "[redacted]", and nothing for the empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString is String.
func (s Secret) GoString() string { return s.String() }

// Format prints String, whatever the verb; but for %p, before which fmt asks
// nobody, and which go vet refuses.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// LogValue is String.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText is String, in JSON as well.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON is String.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }
