package store

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/seal"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Sealed returns a Store that keeps its values in s, encrypted and authenticated with AES-256-GCM
// and bound to their keys. The first key encrypts, all of them decrypt: all replicas have the
// same ones, and they rotate as those of mcpserver.Options.Keys, which may be the same. A value
// is encrypted with a new key when it is written again.
//
// Who can read the engine sees keys, sizes and times, but no values. Who can write to it can
// delete values and bring back older ones of the same key, but cannot change a value, make one,
// or move it to another key: Get and Swap then return an error. The key is that in s and, if s is
// Prefixed, the whole one. The namespace of an engine is not part of it: use other keys for each
// namespace, or who can write to several can move a value from one to another.
//
// The Store has a method Sealed() bool that returns true, which mcpauth.SharedStore requires.
//
// Values are at most 1 MiB less 128 bytes. Swap reads the value and then swaps what it has read,
// so it takes two calls of s, and more if others write the same key. Sealed fails if there is no
// key, or one is not valid.
func Sealed(s mcp.Store, keys ...mcpserver.Key) (mcp.Store, error) {
	all := make([]seal.Key, len(keys))
	for i, k := range keys {
		all[i] = seal.Key(k)
	}
	ring, err := seal.NewRing(all...)
	if err != nil {
		return nil, fmt.Errorf("sealed store: %w", err)
	}
	return &sealed{Store: s, ring: ring}, nil
}

// sealedOverhead is the room for what encryption adds to a value.
const sealedOverhead = 128

// The length of an array is not negative, so the room suffices.
var _ [sealedOverhead - seal.RawOverhead]struct{}

type sealed struct {
	mcp.Store // its methods Delete and List are those of sealed
	ring      *seal.Ring
}

// Limits returns the length of the longest key and the size of the largest value.
func (s *sealed) Limits() (key, value int) {
	key, value = limitsOf(s.Store)
	return key, value - sealedOverhead
}

// Sealed reports that the values are encrypted and authenticated.
func (s *sealed) Sealed() bool { return true }

// fullKey returns what a key is in the engine.
func (s *sealed) fullKey(key string) string { return fullKeyOf(s.Store, key) }

// bound is what a value is authenticated with.
func (s *sealed) bound(key string) []byte { return []byte("value of a store\x00" + s.fullKey(key)) }

func (s *sealed) seal(operation, key string, value []byte) ([]byte, error) {
	if _, limit := s.Limits(); len(value) > limit {
		return nil, fmt.Errorf("sealed store: %s: a value of %d bytes; want at most %d", operation, len(value), limit)
	}
	return s.ring.SealRaw(value, s.bound(key)), nil
}

func (s *sealed) open(operation, key string, text []byte) ([]byte, error) {
	value, err := s.ring.OpenRaw(text, s.bound(key), time.Now())
	if err != nil {
		return nil, fmt.Errorf("sealed store: %s: the value of %q was changed, or was not encrypted with one of the keys", operation, key)
	}
	return value, nil
}

// Get implements mcp.Store.
func (s *sealed) Get(ctx context.Context, key string) (value []byte, found bool, err error) {
	text, found, err := s.Store.Get(ctx, key)
	if err != nil || !found {
		return nil, false, err
	}
	if value, err = s.open("get", key, text); err != nil {
		return nil, false, err
	}
	return value, true, nil
}

// Put implements mcp.Store.
func (s *sealed) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	text, err := s.seal("put", key, value)
	if err != nil {
		return err
	}
	return s.Store.Put(ctx, key, text, ttl)
}

// Create implements mcp.Store.
func (s *sealed) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (created bool, err error) {
	text, err := s.seal("create", key, value)
	if err != nil {
		return false, err
	}
	return s.Store.Create(ctx, key, text, ttl)
}

// Swap implements mcp.Store. The same value has another text each time it is encrypted, so Swap
// compares the value that it reads and then swaps the text that it has read. If another writer
// was faster, the value may nevertheless be the same, as that of a renewed lease: Swap then looks
// again.
func (s *sealed) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (swapped bool, err error) {
	text, err := s.seal("swap", key, value)
	if err != nil {
		return false, err
	}
	for {
		present, found, err := s.Store.Get(ctx, key)
		if err != nil || !found {
			return false, err
		}
		plain, err := s.open("swap", key, present)
		if err != nil || !bytes.Equal(plain, old) {
			return false, err
		}
		if swapped, err := s.Store.Swap(ctx, key, present, text, ttl); swapped || err != nil {
			return swapped, err
		}
		if err := ctx.Err(); err != nil {
			return false, fmt.Errorf("sealed store: swap: %w", err)
		}
	}
}
