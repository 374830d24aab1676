package mcpserver

import (
	"context"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

// The bounds of the time after which a client is to come back.
const (
	leastRetry = time.Millisecond
	mostRetry  = time.Minute
)

// HangUp closes the connection on which the caller waits and asks the client to
// come back after retry, which is held between a millisecond and a minute; the
// call goes on. It is for long calls that are not to hold a connection all the
// time: what the call sends meanwhile waits for the client, as does its result.
//
// It reports whether the client was asked. Clients come back only over
// Streamable HTTP, and in sessions of 2025-11-25; for all others, and outside of
// a call, HangUp does nothing.
//
// Spec: 2025-11-25 basic/transports#sending-messages-to-the-server
func HangUp(ctx context.Context, retry time.Duration) bool {
	r := From(ctx)
	if r == nil {
		return false
	}
	p, ok := r.in.Back.(exchange.Poller)
	return ok && p.HangUp(min(max(retry, leastRetry), mostRetry))
}
