package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpclient"
	"github.com/fondaco/fondaco/mcp/internal/spawn"
)

// Errors of calls. An answer of the server that is an error is an *mcp.Error
// with Remote set; no other error has it. A call that was given up for time
// wraps context.DeadlineExceeded.

// ErrClosed is the error of everything that is asked of a closed client.
var ErrClosed = exchange.ErrClosed

// HTTPError reports an HTTP response that is no answer in the protocol, by its
// Status and Header. The text that came with it is not kept.
type HTTPError = httpclient.StatusError

// ProtocolError reports that the server broke the protocol: what it sent is no
// answer to what it was asked. Asking again is of no use.
type ProtocolError = dialect.ProtocolError

// LostError reports that the connection ended, or over HTTP the stream that was to
// bring the answer, and could not be taken up again. For a call that was under way
// there is a MayHaveRunError in its chain.
type LostError struct{ Err error }

func (e *LostError) Error() string { return e.Err.Error() }

// Unwrap gives access to what ended the connection.
func (e *LostError) Unwrap() error { return e.Err }

// MayHaveRunError reports a request that was sent, or may have been, and got no
// answer: its connection was lost, its time was over, or something between here and
// the server gave up. The server may have done what was asked, or not, so that
// sending it again may do it twice. Requests that certainly were not begun are sent
// again by the client itself, or fail with other errors.
type MayHaveRunError struct{ Err error }

func (e *MayHaveRunError) Error() string { return e.Err.Error() }

// Unwrap gives access to what became of the request.
func (e *MayHaveRunError) Unwrap() error { return e.Err }

// unanswered marks the error of a request that may have run.
func unanswered(err error) error {
	if _, unsent := errors.AsType[*exchange.NotSentError](err); unsent {
		return err
	}
	if _, answer := errors.AsType[*dialect.ProtocolError](err); answer {
		return err
	}
	if e, ok := errors.AsType[*httpclient.TransportError](err); ok && e.Unsent() {
		return err
	}
	if e, ok := errors.AsType[*HTTPError](err); ok && (e.Status < 500 || e.NotBegun()) {
		return err
	}
	return &MayHaveRunError{err}
}

// ExitError tells how a server that is a command has ended, with the end of what it
// wrote to standard error. It is in the chain of the LostError of the calls that
// were under way.
type ExitError = spawn.ExitError

// ToolError reports a tool that ran and failed: its result says why.
type ToolError struct{ Result *mcp.CallToolResult }

func (e *ToolError) Error() string {
	if text := e.Result.Content.Text(); text != "" {
		return "tool failed: " + text
	}
	return "tool failed"
}

// bounded returns ctx with a deadline whose cause says which one it was. A
// negative time is none.
func bounded(ctx context.Context, d time.Duration, format string) (context.Context, context.CancelFunc) {
	if d < 0 {
		return context.WithCancel(ctx)
	}
	return exchange.WithTimeout(ctx, d, fmt.Errorf(format+": %w", d, context.DeadlineExceeded))
}

// isTransport reports whether an HTTP request did not come to a response.
func isTransport(err error) bool {
	_, ok := errors.AsType[*httpclient.TransportError](err)
	return ok
}
