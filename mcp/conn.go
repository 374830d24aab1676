package mcp

import "context"

// Conn carries whole JSON-RPC messages between two peers, in order. Custom
// transports implement it: pass a Conn to Server.Serve of package mcpserver, or to
// mcpclient.Conn.
//
// A Conn moves bytes and does not interpret them. It does framing, limits the
// size of a message, and sets deadlines for writes; the caller does everything
// else (ids, cancellation, revisions).
//
// Spec: 2026-07-28 basic/transports/index#custom-transports
type Conn interface {
	// Read returns the next whole message. The caller owns the returned bytes.
	// It returns io.EOF when the peer has ended the stream in an orderly way,
	// and a *FrameError when one message could not be read (too long, not a
	// frame) but the stream continues. Only one goroutine reads at a time.
	Read(ctx context.Context) ([]byte, error)

	// Write sends one whole message and does not keep msg. It is safe for
	// concurrent use. After an error the connection cannot be used any more.
	Write(ctx context.Context, msg []byte) error

	// Close ends the connection and unblocks Read and Write. It may be called
	// more than once and from any goroutine.
	Close() error
}

// FrameError reports one inbound message that a Conn had to drop, on a stream
// that continues after it. The caller of Read looks for the id of the message in
// Head and Tail. A request is answered with the error, with its id if it was found;
// the call that a response belongs to fails at once.
type FrameError struct {
	// Reason says what was wrong with the frame. It is sent to the peer.
	Reason string
	// Head and Tail are the first and the last bytes of the message. A Conn keeps
	// as many as it can without much memory, such as 4 KiB of each. They may be nil.
	Head, Tail []byte
}

func (e *FrameError) Error() string { return "read message: " + e.Reason }
