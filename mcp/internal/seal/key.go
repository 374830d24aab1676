package seal

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
)

// Key is a secret that encrypts state, and its id. Printing or logging a Key
// shows the id only.
type Key struct {
	// ID identifies the key and is readable in every token: 1 to 32 bytes of
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

// Format prints the id of the key and not its secret, for every verb.
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

// NewRing returns a ring of the given keys. Seal uses the first key, Open all
// of them. To rotate keys, add the new key at the end on all replicas, then
// move it to the front on all replicas; remove the old key when its tokens have
// expired.
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
			return nil, fmt.Errorf("duplicate %v", k)
		}
		r.keys = append(r.keys, &keyCiphers{Key: Key{ID: k.ID, Secret: slices.Clone(k.Secret)}})
	}
	return r, nil
}

// Random returns a ring of one new key, for a single process. The id of the key is random, too,
// so that tokens of other processes are foreign.
func Random() *Ring {
	secret := make([]byte, minSecret)
	_, _ = rand.Read(secret) // never fails
	return &Ring{keys: []*keyCiphers{{Key: Key{ID: rand.Text()[:8], Secret: secret}}}}
}

func (r *Ring) find(id string) *keyCiphers {
	i := slices.IndexFunc(r.keys, func(k *keyCiphers) bool { return k.ID == id })
	if i < 0 {
		return nil
	}
	return r.keys[i]
}
