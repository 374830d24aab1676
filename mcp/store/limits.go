package store

import "github.com/fondaco/fondaco/mcp"

// The limits of mcp.Store.
const (
	maxKey   = 256
	maxValue = 1 << 20
)

// limited is a Store that takes shorter keys or smaller values than mcp.Store says.
type limited interface {
	Limits() (key, value int)
}

// keyed is a Store whose keys are others in the engine.
type keyed interface {
	fullKey(key string) string
}

// fullKeyOf returns what a key of a store is in the engine, as far as wrappers of this package
// change it.
func fullKeyOf(s mcp.Store, key string) string {
	if k, ok := s.(keyed); ok {
		return k.fullKey(key)
	}
	return key
}

// limitsOf returns the length of the longest key and the size of the largest value of a store.
func limitsOf(s mcp.Store) (key, value int) {
	if l, ok := s.(limited); ok {
		return l.Limits()
	}
	return maxKey, maxValue
}
