package httpclient

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// StatusError reports an HTTP response that is not a message of the protocol. It does not have
// the body, because that is untrusted text, which must not get into logs and prompts.
type StatusError struct {
	Status int
	Header http.Header
}

func (e *StatusError) Error() string {
	return e.statusText() + e.credentials()
}

// statusText returns the status alone.
func (e *StatusError) statusText() string {
	return fmt.Sprintf("HTTP %d %s", e.Status, http.StatusText(e.Status))
}

// credentials says what the challenge of the server means for the credentials that were sent. It
// is empty if the response has no challenge of the scheme Bearer or DPoP.
//
// Spec: RFC 6750 3.1
func (e *StatusError) credentials() string {
	if e.Status != http.StatusUnauthorized && e.Status != http.StatusForbidden {
		return ""
	}
	for _, c := range oauth.ParseChallenges(e.Header.Values(httpheader.WWWAuthenticate)) {
		switch {
		case c.Scheme != "bearer" && c.Scheme != "dpop":
		case c.Params["error"] == "invalid_token":
			return ": the server refuses the credentials that were sent"
		case c.Params["error"] == "insufficient_scope" && len(oauth.ParseScope(c.Params["scope"])) > 0:
			return fmt.Sprintf(": the credentials lack a scope, the server wants %.200q", strings.Join(oauth.ParseScope(c.Params["scope"]), " "))
		case c.Params["error"] == "insufficient_scope":
			return ": the credentials lack a scope"
		case c.Params["error"] == "" && e.Status == http.StatusUnauthorized:
			return ": the server requires credentials"
		}
	}
	return ""
}

// NotBegun reports whether the server says that it did not begin to process the
// request: the status is 429 or 503, and the header has a Retry-After.
func (e *StatusError) NotBegun() bool {
	busy := e.Status == http.StatusServiceUnavailable || e.Status == http.StatusTooManyRequests
	return busy && e.Header.Get(httpheader.RetryAfter) != ""
}

// ContentError reports a successful HTTP response of a media type that has no messages.
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

// TransportError reports an HTTP request that got no response.
type TransportError struct {
	Op  string // method and origin
	Err error
	// NoCredentials says that the Authorizer failed, so that nothing was sent.
	NoCredentials bool
}

func (e *TransportError) Error() string { return e.Op + ": " + e.Err.Error() }

// Unsent reports whether the request was not sent, because dialing failed or there were no
// credentials for it.
func (e *TransportError) Unsent() bool {
	if e.NoCredentials {
		return true
	}
	op, ok := errors.AsType[*net.OpError](e.Err)
	return ok && op.Op == "dial"
}

// Unwrap returns the failure.
func (e *TransportError) Unwrap() error { return e.Err }
