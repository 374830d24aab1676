package seal

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
)

// Key is a secret under which state is sealed, and its name. It hides the
// secret when it is printed or logged.
type Key struct {
	// ID names the key in what it seals, for everyone to read: 1 to 32 bytes of
	// printable ASCII.
	ID string
	// Secret is at least 32 random bytes.
	Secret []byte
}

// Limits of a Key.
const (
	maxKeyID  = 32
	minSecret = 32
)

// Format prints the id of the key and not its secret, whatever the verb.
func (k Key) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "key %q", k.ID) }

// LogValue is the id of the key.
func (k Key) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(k)) }

func (k Key) check() error {
	if len(k.ID) == 0 || len(k.ID) > maxKeyID || slices.ContainsFunc([]byte(k.ID), func(c byte) bool { return c <= ' ' || c > '~' }) {
		return fmt.Errorf("key id %q: want 1 to %d bytes of printable ASCII", k.ID, maxKeyID)
	}
	if len(k.Secret) < minSecret {
		return fmt.Errorf("%v: the secret has %d bytes, want at least %d random ones", k, len(k.Secret), minSecret)
	}
	return nil
}

// Ring is a set of keys. It is immutable and safe for concurrent use.
type Ring struct {
	keys []*keyCiphers // the first one seals, all of them open
}

// NewRing returns a ring of the given keys, of which the first seals and all
// open. To rotate, the new key is added at the end everywhere, then moved to the
// front everywhere; the old one is removed when what it sealed has expired.
func NewRing(keys ...Key) (*Ring, error) {
	if len(keys) == 0 {
		return nil, errors.New("no key")
	}
	r := new(Ring)
	for _, k := range keys {
		if err := k.check(); err != nil {
			return nil, err
		}
		if r.find(k.ID) != nil {
			return nil, fmt.Errorf("%v is there twice", k)
		}
		r.keys = append(r.keys, &keyCiphers{Key: Key{ID: k.ID, Secret: slices.Clone(k.Secret)}})
	}
	return r, nil
}

// Random returns a ring of one new key, for a single process.
func Random() *Ring {
	secret := make([]byte, minSecret)
	_, _ = rand.Read(secret) // never fails
	return &Ring{keys: []*keyCiphers{{Key: Key{ID: "process", Secret: secret}}}}
}

func (r *Ring) find(id string) *keyCiphers {
	i := slices.IndexFunc(r.keys, func(k *keyCiphers) bool { return k.ID == id })
	if i < 0 {
		return nil
	}
	return r.keys[i]
}
