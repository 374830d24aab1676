package mcpserver

import (
	"context"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

// The limits of the time after which a client reopens the stream.
const (
	minRetry = time.Millisecond
	maxRetry = time.Minute
)

// CloseStream closes the event stream (SSE) on which the caller waits for the response and
// asks the client to reopen it after retry, which is limited to between a millisecond and a
// minute. The call continues; messages that it sends meanwhile, and its result, are stored
// until the client reopens the stream. Use it in long calls that should not keep a
// connection open.
//
// It reports whether the client was asked. Clients can reopen a stream only over Streamable
// HTTP in sessions of 2025-11-25. In all other cases, and outside of a call, CloseStream
// does nothing. It is safe for concurrent use.
//
// Spec: 2025-11-25 basic/transports#sending-messages-to-the-server
func CloseStream(ctx context.Context, retry time.Duration) bool {
	r := From(ctx)
	if r == nil {
		return false
	}
	p, ok := r.in.BackChannel.(exchange.StreamCloser)
	return ok && p.CloseStream(min(max(retry, minRetry), maxRetry))
}
