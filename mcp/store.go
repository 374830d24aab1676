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
// and empty values are the same. Methods are safe for concurrent use, do not
// keep the slices that are passed to them, and return slices that the caller
// owns. They return when ctx ends. After a write has returned without error,
// every later call on every replica sees it.
type Store interface {
	// Get returns the value of key. It reports false if key has no value or its
	// value has expired.
	Get(ctx context.Context, key string) (value []byte, found bool, err error)

	// Put sets the value of key, which expires after ttl. A ttl of zero means
	// that it does not expire.
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) error

	// Create is like Put if key has no value. Otherwise it changes nothing and
	// reports false.
	Create(ctx context.Context, key string, value []byte, ttl time.Duration) (created bool, err error)

	// Swap is like Put if the value of key equals old. Otherwise it changes
	// nothing and reports false.
	Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (swapped bool, err error)

	// Delete removes the value of key, if there is one.
	Delete(ctx context.Context, key string) error
}
