package mcp

import "context"

// EventStore keeps the events that a server has sent on the event streams of
// its HTTP sessions, so that a client whose connection broke can resume the
// stream and get those that it has missed.
//
// The name of a stream is at most 64 bytes of printable ASCII, and no name is
// used twice. Its events are numbered 1, 2, 3 and so on, and are appended in
// that order. An event of up to 1 MiB is accepted; a larger one may be refused.
// A store is bounded, so it may remove the oldest events at any
// time. The server refuses a client that needs a removed event to resume; that
// client loses its call.
//
// Methods are safe for concurrent use and return when ctx ends. Neither the
// server nor the store changes the bytes of an event after Append or After, so
// a store may keep them without a copy.
//
// Spec: 2025-11-25 basic/transports#resumability-and-redelivery
type EventStore interface {
	// Append stores msg as event n of the stream. An Append of the same number with the same
	// bytes succeeds; with other bytes it may fail or replace the event.
	Append(ctx context.Context, stream string, n int64, msg []byte) error

	// After returns the stored events of the stream with numbers greater than
	// n, in order. The server detects a missing event.
	After(ctx context.Context, stream string, n int64) ([][]byte, error)

	// Trim removes the events of the stream up to and including number n, which
	// are not needed any more. math.MaxInt64 removes the whole stream, which
	// has ended.
	Trim(ctx context.Context, stream string, n int64) error
}
