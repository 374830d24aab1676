package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpclient"
	"github.com/fondaco/fondaco/mcp/internal/spawn"
)

// Errors of calls. An error that the server answered with is an *mcp.Error with Remote
// set; no other error has it. The error of a call whose time was over wraps
// context.DeadlineExceeded.

// ErrClosed is the error of all operations of a closed client.
var ErrClosed = exchange.ErrClosed

// ErrSessionLost is in the chain of the errors of calls and events, beside LostError, when
// a server over HTTP does not know the session any more: it answered 404, or 400 without
// an answer to the request. The next call opens a new session.
var ErrSessionLost = httpclient.ErrSessionLost

// HTTPError reports an HTTP response that is not an MCP message. It does not have the
// body of the response, because that text is not trusted and errors go to logs and
// models.
type HTTPError struct {
	// Status is the status code, such as 502.
	Status int
	// Header holds the header of the response. Do not change it.
	Header http.Header
}

// Error returns the status and its name, such as "HTTP 502 Bad Gateway".
func (e *HTTPError) Error() string { return (*httpclient.StatusError)(e).Error() }

// NotBegun reports whether the server says that it did not begin to process the
// request: the status is 429 or 503, and the header has a Retry-After.
func (e *HTTPError) NotBegun() bool { return (*httpclient.StatusError)(e).NotBegun() }

// ProtocolError reports a response of the server that violates the protocol, such as
// a result that does not satisfy the output schema of its tool. Sending the request
// again does not help.
type ProtocolError struct {
	// Err is the violation.
	Err error
}

// Error returns the text of the violation.
func (e *ProtocolError) Error() string { return e.Err.Error() }

// Unwrap returns the violation.
func (e *ProtocolError) Unwrap() error { return e.Err }

// invalid returns a *ProtocolError with the given text, which is formatted by
// fmt.Errorf.
func invalid(format string, args ...any) error {
	return &ProtocolError{fmt.Errorf("invalid response: "+format, args...)}
}

// LostError reports that the connection ended or, over HTTP, that the stream of the
// response ended and could not be resumed. For a call in flight, its chain has a
// MayHaveRunError.
type LostError struct{ Err error }

func (e *LostError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *LostError) Unwrap() error { return e.Err }

// MayHaveRunError reports a request that may have been sent and got no response: its
// connection was lost, its timeout expired, or a proxy failed. The server may have
// processed the request, so sending it again may process it twice. If the server
// certainly did not begin a request, the client sends it again itself or returns another
// error.
type MayHaveRunError struct{ Err error }

func (e *MayHaveRunError) Error() string { return e.Err.Error() }

// Unwrap returns the failure of the request.
func (e *MayHaveRunError) Unwrap() error { return e.Err }

// markMayHaveRun wraps the error of a request in a MayHaveRunError, unless the error
// shows that the server did not begin the request or has answered it.
func markMayHaveRun(err error) error {
	if _, unsent := errors.AsType[*exchange.NotSentError](err); unsent {
		return err
	}
	if _, answer := errors.AsType[*dialect.ProtocolError](err); answer {
		return err
	}
	if _, begun := errors.AsType[*httpclient.StreamError](err); begun { // also if it could not be resumed
		return &MayHaveRunError{err}
	}
	if isUnsent(err) {
		return err
	}
	if e, ok := errors.AsType[*httpclient.StatusError](err); ok && (e.Status < 500 || e.NotBegun()) {
		return err
	}
	return &MayHaveRunError{err}
}

// ExitError reports how the process of a Command ended. It is in the chain of the
// LostError of calls that were in flight, and of the error of Connect. Examples of its
// text:
//
//	exited with status 2: WEATHER_KEY is not set
//	ended by signal: killed
type ExitError struct {
	// Status is the exit status, or -1 when a signal ended the process.
	Status int
	// Reason says how the process ended, such as "exited with status 2" or
	// "ended by signal: killed".
	Reason string
	// LastLine is the last line on standard error that is not blank, in printable
	// characters, truncated to 256 bytes. It is empty if there was none.
	LastLine string
	// Stderr is the end of the output on standard error, at most 4 KiB, as valid
	// UTF-8. The server wrote it; it may have control characters.
	Stderr string
}

// Error returns Reason and, if there is one, LastLine.
func (e *ExitError) Error() string { return (*spawn.ExitError)(e).Error() }

// withPublicErrors adds the exported errors of this package to the chain of err, each
// beside the error of an internal package that it represents. It is called once for
// each error that a user gets. It does not change the text.
func withPublicErrors(err error) error {
	var public []error
	if e, ok := errors.AsType[*httpclient.StatusError](err); ok {
		public = append(public, (*HTTPError)(e))
	}
	if e, ok := errors.AsType[*dialect.ProtocolError](err); ok {
		public = append(public, (*ProtocolError)(e))
	}
	if e, ok := errors.AsType[*spawn.ExitError](err); ok {
		public = append(public, (*ExitError)(e))
	}
	if public == nil {
		return err
	}
	return &publicError{err, public}
}

// publicError is an error with others in its chain that its text does not show.
type publicError struct {
	error
	public []error
}

func (e *publicError) Unwrap() []error { return append([]error{e.error}, e.public...) }

// ToolError reports a tool call whose result has IsError set. The content of the result
// describes the error.
type ToolError struct{ Result *mcp.CallToolResult }

func (e *ToolError) Error() string {
	if text := e.Result.Content.Text(); text != "" {
		return "tool failed: " + text
	}
	return "tool failed"
}

// withTimeout returns ctx with a timeout whose cause has the given text. The format
// has one verb, for the duration. A negative duration is no timeout.
func withTimeout(ctx context.Context, d time.Duration, format string) (context.Context, context.CancelFunc) {
	if d < 0 {
		return context.WithCancel(ctx)
	}
	return exchange.WithTimeout(ctx, d, fmt.Errorf(format+": %w", d, context.DeadlineExceeded))
}

// isTransport reports whether an HTTP request got no response.
func isTransport(err error) bool {
	_, ok := errors.AsType[*httpclient.TransportError](err)
	return ok
}

// isUnsent reports whether an HTTP request could not be sent, because there is no server,
// or no credentials for it.
func isUnsent(err error) bool {
	e, ok := errors.AsType[*httpclient.TransportError](err)
	return ok && e.Unsent()
}
