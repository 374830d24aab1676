package mcpserver

import (
	"fmt"
	"log/slog"

	"github.com/fondaco/fondaco/mcp/internal/seal"
)

// Key is a named secret that encrypts the state that clients carry for the server
// (requestState). When it is printed or logged, only its ID is shown.
type Key struct {
	// ID is the name of the key: 1 to 32 bytes of printable ASCII without spaces. It is
	// part of the encrypted state and not secret.
	ID string
	// Secret is at least 32 random bytes.
	Secret []byte
}

// Format prints the ID of the key, for every verb.
func (k Key) Format(f fmt.State, verb rune) { seal.Key(k).Format(f, verb) }

// LogValue returns the ID of the key.
func (k Key) LogValue() slog.Value { return seal.Key(k).LogValue() }

// keyRing returns a ring of the keys: the first one encrypts, all decrypt.
func keyRing(keys []Key) (*seal.Ring, error) {
	ring := make([]seal.Key, len(keys))
	for i, k := range keys {
		ring[i] = seal.Key(k)
	}
	return seal.NewRing(ring...)
}
