package mcp

import "context"

// Conn carries whole JSON-RPC messages between two peers, in order. It is the
// interface to implement for a transport of one's own: a server takes it in
// Serve, a client in Over.
//
// A Conn moves bytes and knows nothing of their meaning. Framing, limits on the
// size of a message and deadlines on a write are its job; everything else
// (ids, cancellation, revisions) is done above it.
//
// Spec: 2026-07-28 basic/transports/index#custom-transports
type Conn interface {
	// Read returns the next whole message. The caller owns the returned bytes.
	// It returns io.EOF when the peer has ended the stream in an orderly way,
	// and a *FrameError when one message could not be taken (too long, not a
	// frame) but the stream goes on. One goroutine reads at a time.
	Read(ctx context.Context) ([]byte, error)

	// Write sends one whole message and does not keep msg. It is safe for
	// concurrent use. An error means that the connection is of no more use.
	Write(ctx context.Context, msg []byte) error

	// Close ends the connection and unblocks Read and Write. It may be called
	// more than once and from any goroutine.
	Close() error
}

// FrameError reports one inbound message that a Conn had to drop, on a stream
// that goes on after it. The peer is answered with the error, without an id.
type FrameError struct {
	// Reason says what was wrong with the frame, for the peer to read.
	Reason string
}

func (e *FrameError) Error() string { return "read message: " + e.Reason }
