package mcpserver

import (
	"context"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

// The bounds of the time after which a client is to come back.
const (
	minRetry = time.Millisecond
	maxRetry = time.Minute
)

// CloseStream closes the event stream (SSE) on which the caller waits and asks the
// client to open it again after retry, which is limited to between a millisecond and a
// minute; the call goes on. Use it in long calls that should not keep a connection
// open: what the call sends meanwhile, and its result, are kept for the client.
//
// It reports whether the client was asked. Clients reopen a stream only over
// Streamable HTTP, and in sessions of 2025-11-25; for all others, and outside of a
// call, CloseStream does nothing. It is safe for concurrent use.
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
