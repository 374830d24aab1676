//go:build unix || windows

package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Limits of mcp.Store.
const (
	maxKey   = 256
	maxValue = 1 << 20
)

// never is the shortest ttl that counts as none: a century.
const never = 100 * 365 * 24 * time.Hour

// An entry of the bucket of values is its expiry and the value. The expiry is in nanoseconds
// since 1970, and 0 for never.
const expirySize = 8

// Get implements mcp.Store.
func (s *Store) Get(ctx context.Context, key string) (value []byte, found bool, err error) {
	err = s.read(ctx, "get", func(tx *bolt.Tx) error {
		live, ok := liveValue(tx.Bucket(bucketValues).Get([]byte(key)))
		value, found = bytes.Clone(live), ok
		return nil
	})
	return value, found, err
}

// Put implements mcp.Store.
func (s *Store) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	_, err := s.set(ctx, "put", key, value, ttl, func([]byte, bool) bool { return true })
	return err
}

// Create implements mcp.Store.
func (s *Store) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (created bool, err error) {
	return s.set(ctx, "create", key, value, ttl, func(_ []byte, found bool) bool { return !found })
}

// Swap implements mcp.Store.
func (s *Store) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (swapped bool, err error) {
	return s.set(ctx, "swap", key, value, ttl, func(present []byte, found bool) bool { return found && bytes.Equal(present, old) })
}

// set writes a value if a condition on the present one is fulfilled.
func (s *Store) set(ctx context.Context, operation, key string, value []byte, ttl time.Duration, condition func(present []byte, found bool) bool) (set bool, err error) {
	if err := checkEntry(key, value, ttl); err != nil {
		return false, wrap(operation, err)
	}
	err = s.apply(ctx, change{
		operation: operation,
		needed: func(tx *bolt.Tx) bool {
			set = condition(liveValue(tx.Bucket(bucketValues).Get([]byte(key))))
			return set
		},
		write: func(tx *bolt.Tx) error {
			if err := s.checkRoom(tx, len(key)+len(value)); err != nil {
				return err
			}
			return put(tx, key, value, ttl)
		},
	})
	return set && err == nil, err
}

func checkEntry(key string, value []byte, ttl time.Duration) error {
	if key == "" || len(key) > maxKey || strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' }) {
		return fmt.Errorf("key %q; want 1 to %d bytes of printable ASCII", key[:min(len(key), maxKey)], maxKey)
	}
	if len(value) > maxValue {
		return fmt.Errorf("a value of %d bytes; want at most %d", len(value), maxValue)
	}
	if ttl < 0 {
		return fmt.Errorf("a time to live of %v; want 0 or more", ttl)
	}
	return nil
}

// put writes an entry and its expiry.
func put(tx *bolt.Tx, key string, value []byte, ttl time.Duration) error {
	if err := remove(tx, []byte(key)); err != nil {
		return err
	}
	var expires uint64
	if ttl > 0 && ttl < never {
		expires = uint64(time.Now().Add(ttl).UnixNano())
	}
	entry := binary.BigEndian.AppendUint64(make([]byte, 0, expirySize+len(value)), expires)
	if expires != 0 {
		if err := tx.Bucket(bucketExpiry).Put(expiryKey(entry, []byte(key)), nil); err != nil {
			return err
		}
	}
	return tx.Bucket(bucketValues).Put([]byte(key), append(entry, value...))
}

// remove removes an entry and its expiry, if there is one.
func remove(tx *bolt.Tx, key []byte) error {
	entry := tx.Bucket(bucketValues).Get(key)
	if entry == nil {
		return nil
	}
	if binary.BigEndian.Uint64(entry) != 0 {
		if err := tx.Bucket(bucketExpiry).Delete(expiryKey(entry, key)); err != nil {
			return err
		}
	}
	return tx.Bucket(bucketValues).Delete(key)
}

// expiryKey returns the key of an entry in the bucket that is ordered by expiry.
func expiryKey(entry, key []byte) []byte { return slices.Concat(entry[:expirySize], key) }

// liveValue returns the value of an entry. It reports false if there is none, or if it has
// expired. The value belongs to the transaction.
func liveValue(entry []byte) (value []byte, live bool) {
	if len(entry) < expirySize {
		return nil, false
	}
	if expires := binary.BigEndian.Uint64(entry); expires != 0 && uint64(time.Now().UnixNano()) >= expires {
		return nil, false
	}
	return entry[expirySize:], true
}

// Delete implements mcp.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	return s.apply(ctx, change{
		operation: "delete",
		needed:    func(tx *bolt.Tx) bool { return tx.Bucket(bucketValues).Get([]byte(key)) != nil },
		write:     func(tx *bolt.Tx) error { return remove(tx, []byte(key)) },
	})
}

// List implements mcp.Store.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) (keys []string, err error) {
	err = s.read(ctx, "list", func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketValues).Cursor()
		for key, entry := c.Seek([]byte(max(prefix, after))); key != nil && len(keys) < limit; key, entry = c.Next() {
			if !bytes.HasPrefix(key, []byte(prefix)) {
				break
			}
			if _, live := liveValue(entry); live && string(key) != after {
				keys = append(keys, string(key))
			}
		}
		return nil
	})
	return keys, err
}
