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
	// Continued returns the reply to a request that another process has received: that of work,
	// whose name Continuer.Continue was called with.
	Continued(ctx context.Context, in *Inbound, work string) dialect.Reply
	// Abandon ends work to whose reply the client has no claim any more.
	Abandon(ctx context.Context, work string)
	// Notification processes one notification. It performs a cancellation at once, and
	// passes the call of a handler to Session.QueueNotification, so that it does not wait
	// for the handler. Without a session, the handler is admitted as that of a request is, and
	// runs before Notification returns.
	// ctx is the context of the session or, without one, of the message. The error is an
	// *mcp.Error for a notification that is invalid or not admitted; errors of handlers are
	// logged instead.
	Notification(ctx context.Context, in *Inbound) error
	// LimitReached reports a limit that was reached.
	LimitReached(e mcp.LimitReached)
	// Opened is called for each session or connection before its first message. It returns
	// an error, and so refuses the session, while the server shuts down. Closed is called
	// when a session that was not refused has ended.
	Opened(s *Session) error
	// Initialized is called for a session whose client is initialized certainly, although
	// notifications/initialized may not have been received here. It may be called again.
	Initialized(s *Session)
	// Notify has this process notify the client of a session of changes of lists and of these
	// resources. missed says that nobody may have done so for some time, so that the client is
	// notified of all of them now.
	Notify(ctx context.Context, s *Session, uris []string, missed bool)
	// StopNotifying ends that, because another process does it.
	StopNotifying(s *Session)
	Closed(s *Session)
}
