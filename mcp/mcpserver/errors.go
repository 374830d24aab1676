package mcpserver

import (
	"errors"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/replay"
)

// Errors of Ask and AskAll, besides ErrNotInCall, ErrCannotAsk and an *mcp.Error
// of CodeMissingCapability for a client that cannot be asked.
var (
	// ErrDeclined reports that the user said no.
	ErrDeclined = errors.New("the user declined")
	// ErrDismissed reports that the user went away without a choice.
	ErrDismissed = errors.New("the user dismissed the question")
	// ErrAskExpired reports that no answer came in time.
	ErrAskExpired = errors.New("no answer came in time")
	// ErrInputRequired reports that the run of the handler ends here: the client
	// of the stateless era is told what is asked, and its answer runs the handler
	// again from the top. It is also the cause of the run's context. Whatever the
	// handler returns then is dropped.
	ErrInputRequired = replay.ErrAsked
	// ErrCallEnded reports that the handler has returned: goroutines that it has left
	// behind can neither ask nor remember anything for its call.
	ErrCallEnded = replay.ErrEnded
)

// ErrCannotAsk reports that the client of this request takes no requests in
// mid-call: its revision is stateless, the answer is forced to be JSON, or it is a
// notification that is being handled.
var ErrCannotAsk = exchange.ErrCannotAsk

// ErrNotInCall reports that a function was called outside of a request.
var ErrNotInCall = errors.New("not in a call")

// ErrParkLost reports that a value of Park is gone: it has expired or had to make room
// for those of another owner, the replica that held it has ended, or another retry of
// the same round took it first.
var ErrParkLost = errors.New("interaction expired, call again")

// ErrNotFound is the error of a handler for a resource that does not exist. The client
// gets the error that its revision has for that.
var ErrNotFound = errors.New("not found")

// ErrShutdown is the error of Serve and Run on a server that has been shut down.
var ErrShutdown = errors.New("the server is shut down")

// errUnheard ends a subscription whose client does not take what is sent, as a rule
// because it has gone.
var errUnheard = errors.New("the client does not take what is sent")
