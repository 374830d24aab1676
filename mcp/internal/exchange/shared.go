package exchange

import (
	"context"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// Shared is the part of a session that all processes which serve it have in common. One of them
// notifies the client: the one that has opened the session, or the one at which the client
// opened an event stream last.
type Shared interface {
	// Notifies reports whether this process notifies the client of changes.
	Notifies() bool
	// Initialized tells the process that notifies the client that it is initialized.
	Initialized()
	// SetLogLevel sets the log level in all processes.
	SetLogLevel(ctx context.Context, level mcp.LoggingLevel) error
	// Subscribe and Unsubscribe change the resources of whose changes the client is notified. After
	// an error of Subscribe these are as before, also those that were already set for the core.
	Subscribe(ctx context.Context, uri string) error
	Unsubscribe(ctx context.Context, uri string) error
	// Ask has the other processes accept the response to a request of this one, until done is
	// called. accept is called with a response that another process has received.
	Ask(ctx context.Context, id jsonrpc.ID, accept func(jsonrpc.Message)) (done func(), err error)
	// Cancel cancels a request that is not processed here where it is processed.
	Cancel(id jsonrpc.ID, cause *mcp.CancelledError)
	// End ends the session in all processes, also in those that are started later.
	End(ctx context.Context) error
}

// ErrTooManyShared refuses a subscription because of the number or the size of those that the
// session has.
var ErrTooManyShared = mcp.Errorf(mcp.CodeInvalidParams, "too many subscriptions in this session; unsubscribe from some first")
