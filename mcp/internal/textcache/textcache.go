// Package textcache caches what is derived from texts that come again and again, such as
// the info that a client sends in each request.
package textcache

import (
	"hash/maphash"
	"sync/atomic"
)

// Cache derives values from texts and caches those of recent texts. All users of a Cache
// share its values, because equal texts have equal values. It is safe for concurrent use.
type Cache[T any] struct {
	derive func(text []byte) (*T, error)
	slots  [64]atomic.Pointer[entry[T]]
}

type entry[T any] struct {
	text  string
	value *T
}

// maxText is the maximum size of a cached text, in bytes.
const maxText = 2048

var seed = maphash.MakeSeed()

// New returns a cache of what derive returns. derive must not keep the text. Errors and nil
// are not cached.
func New[T any](derive func(text []byte) (*T, error)) *Cache[T] {
	return &Cache[T]{derive: derive}
}

// Get returns the value of a text. The value is shared and must not be changed.
func (c *Cache[T]) Get(text []byte) (*T, error) {
	if len(text) > maxText {
		return c.derive(text)
	}
	slot := &c.slots[maphash.Bytes(seed, text)%uint64(len(c.slots))]
	if e := slot.Load(); e != nil && e.text == string(text) {
		return e.value, nil
	}
	value, err := c.derive(text)
	if err == nil && value != nil {
		slot.Store(&entry[T]{string(text), value})
	}
	return value, err
}
