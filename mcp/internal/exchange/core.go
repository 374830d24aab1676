package exchange

import (
	"context"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// Core is the interface of a server to the pipes.
type Core interface {
	// Dialect decodes requests and encodes replies for their revisions.
	Dialect() *dialect.Server
	// Limits bound what is decoded.
	Limits() jsonrpc.Limits
	// Request processes one request and returns its encoded reply. It never panics.
	Request(ctx context.Context, in *Inbound) dialect.Reply
	// Notification processes one notification. It performs a cancellation at once, and
	// passes the call of a handler to Session.QueueNotification, so that it does not wait
	// for the handler. Without a session, the handler runs before Notification returns.
	// ctx is the context of the session or, without one, of the message. The error is an
	// *mcp.Error for an invalid notification; errors of handlers are logged instead.
	Notification(ctx context.Context, in *Inbound) error
	// LimitReached reports a limit that was reached.
	LimitReached(e mcp.LimitReached)
	// Opened is called for each session or connection before its first message. It returns
	// an error, and so refuses the session, while the server shuts down. Closed is called
	// when a session that was not refused has ended.
	Opened(s *Session) error
	Closed(s *Session)
}
