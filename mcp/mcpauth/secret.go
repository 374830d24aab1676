package mcpauth

import (
	"fmt"
	"log/slog"

	"github.com/fondaco/fondaco/mcp/internal/oauth"
	"github.com/fondaco/fondaco/mcp/internal/seal"
)

// Secret is a password, a token or an assertion. Printed, logged or encoded it is
// "[redacted]", or empty when it is empty; Reveal returns its text.
type Secret string

// Reveal returns the text of the secret.
func (s Secret) Reveal() string { return string(s) }

// Equal compares two secrets in a time that depends only on their lengths.
func (s Secret) Equal(other Secret) bool { return oauth.Secret(s).Equal(oauth.Secret(other)) }

// String returns "[redacted]", or "" for the empty secret.
func (s Secret) String() string { return oauth.Secret(s).String() }

// GoString returns what String returns.
func (s Secret) GoString() string { return s.String() }

// Format prints what String returns, for every verb but %p, which package fmt
// handles by itself.
func (s Secret) Format(f fmt.State, verb rune) { oauth.Secret(s).Format(f, verb) }

// LogValue returns what String returns.
func (s Secret) LogValue() slog.Value { return oauth.Secret(s).LogValue() }

// MarshalText returns what String returns.
func (s Secret) MarshalText() ([]byte, error) { return oauth.Secret(s).MarshalText() }

// MarshalJSON returns what String returns, as a JSON string.
func (s Secret) MarshalJSON() ([]byte, error) { return oauth.Secret(s).MarshalJSON() }

// Key is a secret that encrypts the nonces of proofs, with a name. Printed or
// logged it shows its ID and not its Secret.
type Key struct {
	// ID identifies the key, in clear text, in the nonces that it encrypts: 1 to 32
	// bytes of printable ASCII without spaces.
	ID string
	// Secret is at least 32 random bytes.
	Secret []byte
}

// Format prints the ID of the key, for every verb.
func (k Key) Format(f fmt.State, verb rune) { seal.Key(k).Format(f, verb) }

// LogValue returns the ID of the key.
func (k Key) LogValue() slog.Value { return seal.Key(k).LogValue() }
