package httpclient

import (
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

// StatusError reports an HTTP response that is no answer in the protocol. Its
// body is not kept: what a stranger wrote there is not for logs and models.
type StatusError struct {
	Status int
	Header http.Header
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("HTTP %d %s", e.Status, http.StatusText(e.Status))
}

// NotBegun reports whether the server says that it did not begin what it was asked
// for: it has too much to do or is leaving, and names a time to try again.
func (e *StatusError) NotBegun() bool {
	busy := e.Status == http.StatusServiceUnavailable || e.Status == http.StatusTooManyRequests
	return busy && e.Header.Get(httpheader.RetryAfter) != ""
}

// ContentError reports a successful HTTP response of a type in which no answer
// travels.
type ContentError struct {
	Status int
	Type   string // empty when there was none
}

func (e *ContentError) Error() string {
	if e.Type == "" {
		return fmt.Sprintf("HTTP %d without a content type: want %s or %s", e.Status, httpheader.TypeJSON, httpheader.TypeEventStream)
	}
	return fmt.Sprintf("HTTP %d with content of type %q: want %s or %s", e.Status, e.Type, httpheader.TypeJSON, httpheader.TypeEventStream)
}

// TransportError reports an HTTP request that came to no response.
type TransportError struct {
	Op  string // method and origin
	Err error
}

func (e *TransportError) Error() string { return e.Op + ": " + e.Err.Error() }

// Unsent reports whether there was not even a connection.
func (e *TransportError) Unsent() bool {
	op, ok := errors.AsType[*net.OpError](e.Err)
	return ok && op.Op == "dial"
}

// Unwrap gives access to the failure.
func (e *TransportError) Unwrap() error { return e.Err }
