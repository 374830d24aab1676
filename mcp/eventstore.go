package mcp

import "context"

// EventStore keeps the events that a server has sent on the event streams of its
// HTTP sessions, so that a client whose connection broke can come back for those
// that it has missed.
//
// A stream is named by at most 64 bytes of printable ASCII, and no name is used
// twice. Its events are numbered from 1 on, one by one, and come in that order.
// A store is bounded, so it may forget at any time, the oldest events first: a
// client that comes back for one of those is refused and loses its call.
//
// Methods are safe for concurrent use and return when ctx ends. Neither side
// changes the bytes of an event once it has handed them over, so a store may keep
// what it is given.
//
// Spec: 2025-11-25 basic/transports#resumability-and-redelivery
type EventStore interface {
	// Append keeps msg as event n of the stream.
	Append(ctx context.Context, stream string, n int64, msg []byte) error

	// After returns the events of the stream behind number n, in order, as far as
	// they are kept. The server notices when one is missing.
	After(ctx context.Context, stream string, n int64) ([][]byte, error)

	// Trim forgets the events of the stream up to and including number n, for
	// which nobody will ask any more. math.MaxInt64 is the end of the stream.
	Trim(ctx context.Context, stream string, n int64) error
}
