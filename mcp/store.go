package mcp

import (
	"context"
	"time"
)

// Store keeps small pieces of state for as long as they are needed, and for all
// replicas of a server that share it: task states, used tokens, replies that a
// client may ask for again.
//
// Keys are at most 256 bytes of printable ASCII. Values are at most 1 MiB; nil
// and empty values are the same. Methods are safe for concurrent use, do not
// keep the slices that they are given, and return slices that the caller owns.
// They return when ctx ends. Once a write has returned without error, every
// later call sees it, on every replica.
type Store interface {
	// Get returns the value under key. It reports false when there is none, or
	// none any more.
	Get(ctx context.Context, key string) (value []byte, found bool, err error)

	// Put sets the value under key, which expires after ttl. A ttl of zero means
	// that it does not expire.
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) error

	// Create is Put for a key that has no value. It reports false, and changes
	// nothing, when there is one.
	Create(ctx context.Context, key string, value []byte, ttl time.Duration) (created bool, err error)

	// Swap is Put for a key whose value is old. It reports false, and changes
	// nothing, when the value is another or there is none.
	Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (swapped bool, err error)

	// Delete removes the value under key, if there is one.
	Delete(ctx context.Context, key string) error
}
