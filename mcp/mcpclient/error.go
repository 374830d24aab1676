package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/streamhttp"
)

// Errors of calls. An answer of the server that is an error is an *mcp.Error
// with Remote set; no other error has it. A call that was given up for time
// wraps context.DeadlineExceeded.

// ErrClosed is the error of everything that is asked of a closed client.
var ErrClosed = exchange.ErrClosed

// HTTPError reports an HTTP response that is no answer in the protocol, by its
// Status and Header. The text that came with it is not kept.
type HTTPError = streamhttp.StatusError

// ProtocolError reports that the server broke the protocol: what it sent is no
// answer to what it was asked. Asking again is of no use.
type ProtocolError = dialect.ProtocolError

// LostError reports that the connection ended, or over HTTP the stream that was to
// bring the answer, and could not be taken up again. A call that was under way may
// have been done, or not.
type LostError struct{ Err error }

func (e *LostError) Error() string { return e.Err.Error() }

// Unwrap gives access to what ended the connection.
func (e *LostError) Unwrap() error { return e.Err }

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
	return context.WithTimeoutCause(ctx, d, fmt.Errorf(format+": %w", d, context.DeadlineExceeded))
}

// isTransport reports whether an HTTP request did not come to a response.
func isTransport(err error) bool {
	_, ok := errors.AsType[*streamhttp.TransportError](err)
	return ok
}
