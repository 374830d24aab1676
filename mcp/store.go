package mcp

import (
	"context"
	"time"
)

// Store is a key-value store with expiry that the replicas of a server share.
// It holds small state: task states, used tokens, replies that a client may
// request again.
//
// Keys are at most 256 bytes of printable ASCII. Values are at most 1 MiB; nil
// and empty values are the same. A Store that takes less, such as a wrapper, has
// a method Limits() (key, value int), which returns the length of the longest
// key and the size of the largest value. Methods are safe for concurrent use, do not
// keep the slices that are passed to them, and return slices that the caller
// owns. They return when ctx ends. After a write has returned without error,
// every later call on every replica sees it.
type Store interface {
	// Get returns the value of key. It reports false if key has no value or its
	// value has expired.
	Get(ctx context.Context, key string) (value []byte, found bool, err error)

	// Put sets the value of key, which expires after ttl. A ttl of zero means
	// that it does not expire, and a negative one is an error.
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) error

	// Create is like Put if key has no value. Otherwise it changes nothing and
	// reports false.
	Create(ctx context.Context, key string, value []byte, ttl time.Duration) (created bool, err error)

	// Swap is like Put if the value of key equals old. Otherwise it changes
	// nothing and reports false.
	Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (swapped bool, err error)

	// Delete removes the value of key, if there is one.
	Delete(ctx context.Context, key string) error

	// List returns keys that begin with prefix, are greater than after, and have a value
	// that has not expired, in the order of their bytes and at most limit. An empty after
	// begins with the first key. To read all keys, pass the last one of each result as the
	// next after until a result has fewer than limit. Keys that are written or deleted
	// between two calls may be missing or included.
	List(ctx context.Context, prefix, after string, limit int) (keys []string, err error)
}
