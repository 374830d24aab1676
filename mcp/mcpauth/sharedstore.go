package mcpauth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

const (
	// sharedLife is how long a value stays that no process uses.
	sharedLife = 365 * 24 * time.Hour
	// sharedUse is the age from which on a use makes the life of a value begin anew.
	sharedUse = sharedLife / 12
	// sharedTimeout bounds one operation of the store, and how long a new value is tried to be
	// stored.
	sharedTimeout = 6 * time.Second
	// sharedRetry is the time between two attempts to store a new value.
	sharedRetry = 100 * time.Millisecond
)

// SharedStore returns a Store that keeps its values in an mcp.Store, which the processes of
// several machines share: a user who has signed in at one of them has done so at all, and a token
// is renewed by one of them, whose new tokens the others use. That matters because authorization
// servers replace the refresh token with each use, and may end a sign-in whose old one is used
// again.
//
// The mcp.Store has to encrypt and authenticate its values, as mcp/store.Sealed does, because
// who has the tokens can act as the users. A Store of your own that does so says it by a method
// Sealed() bool that returns true; SharedStore panics for every other one. The keys are digests
// of the names of servers, clients and accounts, which who reads the engine can guess and compare.
//
// Update locks its key, and waits for other processes until its context ends, at most one minute.
// The lock of a process that has ended, or does not reach the store, is free after 6 seconds. A
// process that was stopped for longer than that does not replace what another one has stored
// since, and its Update fails, as it does before it calls change if the store takes more than two
// seconds to keep the lock. A new value that cannot be stored is tried again for 6 seconds; the
// tokens of a process that ends in between are lost, and the user has to sign in again.
//
// Load takes one operation of the mcp.Store, and Update five, or six of a slow one. Each may take 6
// seconds. Values are at most 1 MiB less 256 bytes. One that no process has used for a year
// expires, and one that is removed leaves one of a byte for a minute. SharedStore is safe for
// concurrent use.
//
// Spec: OAuth 2.1 4.3.1 (rotation of refresh tokens); RFC 9700 4.14.2
func SharedStore(values mcp.Store) Store {
	if s, ok := values.(interface{ Sealed() bool }); !ok || !s.Sealed() {
		panic("mcpauth: SharedStore: found a Store that does not encrypt its values, want one that does, such as store.Sealed")
	}
	return sharedStore{values}
}

type sharedStore struct{ values mcp.Store }

var _ Store = sharedStore{}

// sharedKey returns the part of a key in the store that stands for a key of any length.
func sharedKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// Load implements Store.
func (s sharedStore) Load(ctx context.Context, key string) ([]byte, error) {
	name := "tokens/" + sharedKey(key)
	record, err := s.get(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("token store: %w", err)
	}
	if record.value != nil && time.Since(record.used) > sharedUse {
		s.touch(ctx, name, record)
	}
	return record.value, nil
}

// sharedRecord is a value in the store.
type sharedRecord struct {
	value []byte
	used  time.Time // at most sharedUse before the last use
	text  []byte    // the stored form of both, or removedValue; nil: the store has neither
}

// removedValue takes the place of a value that is removed, for removedLife, so that nothing that
// another process has stored since is removed.
var removedValue = []byte{0}

const removedLife = time.Minute

// sharedHeader is the size of the time in front of a value.
const sharedHeader = 8

func encodeShared(value []byte, now time.Time) []byte {
	text := make([]byte, sharedHeader, sharedHeader+len(value))
	binary.BigEndian.PutUint64(text, uint64(now.Unix()))
	return append(text, value...)
}

func (s sharedStore) get(ctx context.Context, name string) (r sharedRecord, err error) {
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	text, found, err := s.values.Get(ctx, name)
	switch {
	case err != nil || !found:
		return sharedRecord{}, err
	case bytes.Equal(text, removedValue):
		return sharedRecord{text: text}, nil
	case len(text) < sharedHeader:
		return sharedRecord{}, errors.New("the value has no time: remove it to sign in again")
	}
	return sharedRecord{value: text[sharedHeader:], used: time.Unix(int64(binary.BigEndian.Uint64(text)), 0), text: text}, nil
}

// touch makes the life of a value begin anew. Another use does so if it fails.
func (s sharedStore) touch(ctx context.Context, name string, r sharedRecord) {
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	_, _ = s.values.Swap(ctx, name, r.text, encodeShared(r.value, time.Now()), sharedLife)
}

// Update implements Store.
func (s sharedStore) Update(ctx context.Context, key string, change func([]byte) ([]byte, error)) error {
	lock, err := s.lock(ctx, "tokenlocks/"+sharedKey(key))
	if err != nil {
		return fmt.Errorf("token store: %w", err)
	}
	defer lock.release()
	name := "tokens/" + sharedKey(key)
	old, err := s.get(ctx, name)
	if err != nil {
		return fmt.Errorf("token store: %w", err)
	}
	if err := lock.hold(ctx); err != nil {
		return fmt.Errorf("token store: %w", err)
	}
	value, err := change(bytes.Clone(old.value))
	if err != nil {
		return err
	}
	if err := s.store(ctx, name, old, value); err != nil {
		return fmt.Errorf("token store: %w", err)
	}
	return nil
}

// store stores a value in place of old. It tries again if the store fails, also if the one who
// waits for it has gone, because the authorization server may have ended the old token.
func (s sharedStore) store(ctx context.Context, name string, old sharedRecord, value []byte) error {
	switch {
	case value == nil && old.value == nil, value != nil && old.value != nil && bytes.Equal(value, old.value):
		return nil
	case len(value) > maxShared:
		return fmt.Errorf("value of %d bytes: want at most %d", len(value), maxShared)
	}
	text, life := removedValue, removedLife
	if value != nil {
		text, life = encodeShared(value, time.Now()), sharedLife
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sharedTimeout)
	defer cancel()
	for {
		stored, err := s.replace(ctx, name, old, text, life)
		switch {
		case err == nil && stored:
			return nil
		case err == nil:
			return errors.New("another process has changed the value at the same time")
		case ctx.Err() != nil:
			return err
		}
		select {
		case <-time.After(sharedRetry):
		case <-ctx.Done():
		}
	}
}

// maxShared leaves room for the time and for what encryption adds.
const maxShared = maxStored - 256

// replace stores text in place of old. It reports false if the store has neither of them. An
// earlier attempt, whose response was lost, may have stored text.
func (s sharedStore) replace(ctx context.Context, name string, old sharedRecord, text []byte, life time.Duration) (stored bool, err error) {
	if old.text != nil {
		stored, err = s.values.Swap(ctx, name, old.text, text, life)
	} else {
		stored, err = s.values.Create(ctx, name, text, life)
	}
	if err != nil || stored {
		return stored, err
	}
	now, found, err := s.values.Get(ctx, name)
	return found && bytes.Equal(now, text), err
}
