package mcpserver

import (
	"errors"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/replay"
)

// Errors of Ask and AskAll. They also return ErrNotInCall, ErrCannotAsk, and an *mcp.Error
// of CodeMissingCapability for a client that did not declare the capability.
var (
	// ErrDeclined reports that the user declined (action decline).
	ErrDeclined = errors.New("the user declined")
	// ErrDismissed reports that the user dismissed the question without a choice (action
	// cancel).
	ErrDismissed = errors.New("the user dismissed the question")
	// ErrAskExpired reports that the client did not answer within AskOptions.Wait, or
	// that the question was cancelled because of AskOptions.MaxQuestions.
	ErrAskExpired = errors.New("no answer came in time")
)

// ErrInputRequired reports that a question has ended this run of the handler. The
// stateless era has no requests to the client: the reply contains the question
// (input_required), and the client's retry with the answer runs the handler again from the
// top. It is also the cause of the run's context. The result that the handler returns then
// is ignored.
var ErrInputRequired = replay.ErrAsked

// ErrCallEnded reports that the handler has returned, or that Detach has moved the call to
// background work. With the context of the call, goroutines can neither ask nor remember
// anything then. Ask and AskAll also return it, together with the cause of the context, when
// the call ends before its handler returns: by a cancellation of the client, by [Timeout] or
// by a shutdown.
var ErrCallEnded = replay.ErrEnded

// ErrCannotAsk reports that the server cannot send a request to the client while it
// handles this message: the revision has no such requests (stateless era), the response
// mode is ResponseJSON, or the message is a notification.
var ErrCannotAsk = exchange.ErrNoBackChannel

// ErrReinitialized is in the chain of the errors of Ask, AskAll and [Request.Call] when
// another initialize was received on the connection after the call: programs that start one
// stdio server for several clients send one for each. The client that is connected now was
// not asked. The call goes on, and its reply is sent.
var ErrReinitialized = exchange.ErrReinitialized

// ErrNotInCall reports that a function was called outside of a request: its context does
// not belong to one, or its *Request is nil.
var ErrNotInCall = errors.New("not in a call")

// ErrParkLost reports that a value of Park was closed or is not in this process: it has
// expired, it was closed because of AskOptions.MaxParked, the retry was sent to another
// replica, or another retry of the same round has taken it.
var ErrParkLost = errors.New("interaction expired, call again")

// ErrNotFound is the error that a ResourceHandler returns, or wraps, when the resource does
// not exist. The client gets the error that its revision defines for that. Other handlers
// have no such error: from one of [Server.Handle] it is an internal error, and one that
// clients can tell from others is an [*mcp.Error] of CodeResourceNotFound.
var ErrNotFound = errors.New("not found")

// ErrShutdown is the error of Serve, ServeConn and Run on a server that was shut down, and
// the cause of contexts that a shutdown ends.
var ErrShutdown = errors.New("the server is shut down")

// errNotDelivered ends a subscription when a message cannot be sent to its client, in most
// cases because the client has disconnected.
var errNotDelivered = errors.New("the message was not delivered to the client")
