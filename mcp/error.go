package mcp

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"math"
	"time"
)

// Code is the kind of a protocol error. It is symbolic: its number on the wire
// depends on the revision of the peer.
type Code string

// The kinds of protocol error.
const (
	// CodeParse: the message was not JSON, or not the strict JSON required.
	CodeParse Code = "parse error"
	// CodeInvalidRequest: the message was JSON, but not a valid JSON-RPC message, or not
	// one that its sender may send.
	CodeInvalidRequest Code = "invalid request"
	// CodeMethodNotFound: the method does not exist or its capability was not declared.
	CodeMethodNotFound Code = "method not found"
	// CodeInvalidParams: the params are malformed, or name something unknown.
	CodeInvalidParams Code = "invalid params"
	// CodeInternal: the receiver failed for an internal reason.
	CodeInternal Code = "internal error"
	// CodeResourceNotFound: no such resource. Data holds its uri.
	CodeResourceNotFound Code = "resource not found"
	// CodeHeaderMismatch: HTTP headers and body disagree.
	CodeHeaderMismatch Code = "header mismatch"
	// CodeMissingCapability: the request needs a capability that its sender did
	// not declare. Data holds requiredCapabilities.
	CodeMissingCapability Code = "missing required client capability"
	// CodeUnsupportedVersion: the requested revision is not served. Data holds
	// supported and requested.
	CodeUnsupportedVersion Code = "unsupported protocol version"
	// CodeInsufficientScope: the sender was not granted what the request needs. Data
	// holds requiredScopes.
	CodeInsufficientScope Code = "insufficient scope"
	// CodeURLElicitationRequired: the user must complete URL elicitations first
	// (2025-11-25).
	CodeURLElicitationRequired Code = "url elicitation required"
	// CodeRejected: the user refused the request (sampling of the session era).
	CodeRejected Code = "rejected by user"
	// CodeRateLimited: the sender has sent too many requests. Data holds
	// retryAfterMs. The number on the wire is 429, like the status over HTTP.
	CodeRateLimited Code = "rate limited"
	// CodeOverloaded: the receiver is overloaded. Data holds retryAfterMs. The number on the wire
	// is 503, like the status over HTTP.
	CodeOverloaded Code = "overloaded"
	// CodeOther: an error that the application defines; Number holds its
	// number.
	CodeOther Code = "application error"
)

// Error is a protocol error: the error member of a JSON-RPC response. Handlers
// return one to choose the code that the peer sees; calls return one when the
// peer answered with an error.
type Error struct {
	Code Code
	// Number is the number on the wire. It is set on errors that a peer has sent.
	// On errors to send it is used only with CodeOther, and must not be in the
	// range -32768 to -32000, which JSON-RPC and the protocol reserve.
	Number int64
	// Message is one short sentence.
	Message string
	// Data holds details as JSON, or is nil.
	Data jsontext.Value
	// Remote is true for an error that the peer has sent, and false for an error
	// of this side.
	Remote bool
}

func (e *Error) Error() string {
	switch {
	case e.Message == "":
		return string(e.Code)
	case e.Remote:
		return fmt.Sprintf("peer answered %d: %s", e.Number, e.Message)
	}
	return e.Message
}

// Errorf returns an error of the given kind of this side (Remote is false).
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// PeerRetryLaterf returns an error of CodeRateLimited or CodeOverloaded for the program at the
// other end, the sender of the request: it is to wait at least the given time before it sends the
// request again, as [Error.RetryAfter] reads it. It is a protocol error, which a model does not
// see. A tool handler that wants to tell the model to wait returns any other error, with a text
// that says so.
func PeerRetryLaterf(code Code, after time.Duration, format string, args ...any) *Error {
	e := Errorf(code, format, args...)
	e.Data = fmt.Appendf(nil, `{"retryAfterMs":%d}`, max(after, time.Millisecond).Milliseconds())
	return e
}

// RetryAfter returns how long to wait before a request that was answered with e is sent again. It
// reports false for errors that hold no such time. A request that was refused in this manner was
// not processed at all.
func (e *Error) RetryAfter() (time.Duration, bool) {
	var data RetryLaterData
	if e.Code != CodeRateLimited && e.Code != CodeOverloaded || json.Unmarshal(e.Data, &data) != nil || data.RetryAfterMs <= 0 {
		return 0, false
	}
	return time.Duration(min(data.RetryAfterMs, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond, true
}

// CodeOf returns the kind of the first *Error in err's chain. It is empty for a
// nil error and CodeInternal for an error whose chain has no *Error.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}
