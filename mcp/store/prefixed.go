package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// maxPrefix is the length of the longest prefix.
const maxPrefix = 128

// Prefixed returns a Store that has the part of s whose keys begin with prefix. Its keys are those
// of s without the prefix, and are that much shorter than 256 bytes at most. End the prefix with
// a character that ends no other one, such as "orders/", or parts overlap. Prefixed panics if the
// prefix is not 1 to 128 bytes of printable ASCII.
func Prefixed(s mcp.Store, prefix string) mcp.Store {
	if prefix == "" || len(prefix) > maxPrefix || strings.ContainsFunc(prefix, func(c rune) bool { return c < ' ' || c > '~' }) {
		panic(fmt.Sprintf("store: prefix %q; want 1 to %d bytes of printable ASCII", prefix, maxPrefix))
	}
	return &prefixed{store: s, prefix: prefix}
}

type prefixed struct {
	store  mcp.Store
	prefix string
}

// Limits returns the length of the longest key and the size of the largest value.
func (p *prefixed) Limits() (key, value int) {
	key, value = limitsOf(p.store)
	return key - len(p.prefix), value
}

// Sealed reports whether the values are encrypted and authenticated.
func (p *prefixed) Sealed() bool {
	s, ok := p.store.(interface{ Sealed() bool })
	return ok && s.Sealed()
}

// fullKey returns a key with the prefix, and with those of wrapped stores.
func (p *prefixed) fullKey(key string) string { return fullKeyOf(p.store, p.prefix+key) }

// errNoKey is returned for the empty key, which would be the prefix itself.
var errNoKey = errors.New("prefixed store: an empty key; want at least 1 byte")

func (p *prefixed) key(key string) (string, error) {
	if key == "" {
		return "", errNoKey
	}
	return p.prefix + key, nil
}

// Get implements mcp.Store.
func (p *prefixed) Get(ctx context.Context, key string) (value []byte, found bool, err error) {
	key, err = p.key(key)
	if err != nil {
		return nil, false, err
	}
	return p.store.Get(ctx, key)
}

// Put implements mcp.Store.
func (p *prefixed) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	key, err := p.key(key)
	if err != nil {
		return err
	}
	return p.store.Put(ctx, key, value, ttl)
}

// Create implements mcp.Store.
func (p *prefixed) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (created bool, err error) {
	key, err = p.key(key)
	if err != nil {
		return false, err
	}
	return p.store.Create(ctx, key, value, ttl)
}

// Swap implements mcp.Store.
func (p *prefixed) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (swapped bool, err error) {
	key, err = p.key(key)
	if err != nil {
		return false, err
	}
	return p.store.Swap(ctx, key, old, value, ttl)
}

// Delete implements mcp.Store.
func (p *prefixed) Delete(ctx context.Context, key string) error {
	key, err := p.key(key)
	if err != nil {
		return err
	}
	return p.store.Delete(ctx, key)
}

// List implements mcp.Store. A key of the wrapped store that is the prefix itself is not listed.
func (p *prefixed) List(ctx context.Context, prefix, after string, limit int) (keys []string, err error) {
	keys, err = p.store.List(ctx, p.prefix+prefix, p.prefix+after, limit)
	for i, key := range keys {
		keys[i] = strings.TrimPrefix(key, p.prefix)
	}
	return keys, err
}
