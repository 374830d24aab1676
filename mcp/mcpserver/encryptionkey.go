package mcpserver

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

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

// KeysVariable is the environment variable from which Main reads Options.Keys.
const KeysVariable = "FONDACO_KEYS"

// ParseKeys returns the keys of a text for Options.Keys: base64 of 32 random bytes each,
// separated by commas, as the variable FONDACO_KEYS of Main has them. "openssl rand -base64 32"
// makes one. The ID of a key is the beginning of the digest of its secret. New accepts the keys.
// An error has no part of the text.
func ParseKeys(text string) ([]Key, error) {
	var keys []Key
	for i, word := range strings.Split(text, ",") {
		secret, err := base64.StdEncoding.DecodeString(strings.TrimSpace(word))
		if err != nil || len(secret) != 32 { // the text of err may have a part of the secret
			return nil, fmt.Errorf("keys: number %d is not base64 of 32 bytes; want keys as \"openssl rand -base64 32\" prints them, separated by commas", i+1)
		}
		digest := sha256.Sum256(secret)
		key := Key{ID: hex.EncodeToString(digest[:4]), Secret: secret}
		if slices.ContainsFunc(keys, func(k Key) bool { return k.ID == key.ID }) {
			return nil, fmt.Errorf("keys: number %d is there twice; want each key once", i+1)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// useKeys sets the keys that the replicas of the server share. It fails once the server has
// served HTTP.
func (s *Server) useKeys(keys []Key) (err error) {
	if s.http != nil {
		return errors.New("want the keys in Options.Keys, because the server has served HTTP already")
	}
	if s.keys, err = keyRing(keys); err == nil {
		s.sharesKeys = true
	}
	return err
}

// keyRing returns a ring of the keys: the first one encrypts, all decrypt.
func keyRing(keys []Key) (*seal.Ring, error) {
	ring := make([]seal.Key, len(keys))
	for i, k := range keys {
		ring[i] = seal.Key(k)
	}
	return seal.NewRing(ring...)
}
