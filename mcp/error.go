package mcp

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"math"
	"time"
)

// Code says what kind of protocol error happened. It is symbolic: which number
// stands for it on the wire depends on the revision that the peer speaks.
type Code string

// The kinds of protocol error.
const (
	// CodeParse: the message was not JSON, or not the strict JSON required.
	CodeParse Code = "parse error"
	// CodeInvalidRequest: JSON, but not a JSON-RPC message that may be sent here.
	CodeInvalidRequest Code = "invalid request"
	// CodeMethodNotFound: the method does not exist or its capability was not declared.
	CodeMethodNotFound Code = "method not found"
	// CodeInvalidParams: the params are malformed, or name something unknown.
	CodeInvalidParams Code = "invalid params"
	// CodeInternal: the receiver failed for reasons of its own.
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
	// CodeURLElicitationRequired: URL visits have to be made first (2025-11-25).
	CodeURLElicitationRequired Code = "url elicitation required"
	// CodeRejected: the user refused the request (sampling of the session era).
	CodeRejected Code = "rejected by user"
	// CodeRateLimited: its sender has sent too much. Data holds retryAfterMs. The
	// number on the wire is 429, like the status over HTTP.
	CodeRateLimited Code = "rate limited"
	// CodeOverloaded: the receiver has too much to do. Data holds retryAfterMs. The
	// number on the wire is 503, like the status over HTTP.
	CodeOverloaded Code = "overloaded"
	// CodeOther: an application's own error; Number holds its number.
	CodeOther Code = "application error"
)

// Error is a protocol error: the error member of a JSON-RPC response. Handlers
// return one to choose the code that the peer sees; calls return one when the
// peer answered with an error.
type Error struct {
	Code Code
	// Number is the number on the wire. It is set on errors received from a
	// peer, and read for CodeOther only: there it has to lie outside the range
	// -32768 to -32000, which belongs to JSON-RPC and the protocol.
	Number int64
	// Message is one short sentence.
	Message string
	// Data holds details as JSON, or is nil.
	Data jsontext.Value
	// Remote tells that the peer said so; otherwise this side found it.
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

// Errorf returns an error of the given kind found on this side.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// RetryLaterf returns an error of CodeRateLimited or CodeOverloaded, which asks its
// receiver to send the request again after the given time at the earliest.
func RetryLaterf(code Code, after time.Duration, format string, args ...any) *Error {
	e := Errorf(code, format, args...)
	e.Data = fmt.Appendf(nil, `{"retryAfterMs":%d}`, max(after, time.Millisecond).Milliseconds())
	return e
}

// RetryAfter returns for how long a request that was answered with e is to wait
// before it is sent again. It reports false for errors that do not say so. A request
// that was refused like that has not been begun.
func (e *Error) RetryAfter() (time.Duration, bool) {
	var data RetryLaterData
	if e.Code != CodeRateLimited && e.Code != CodeOverloaded || json.Unmarshal(e.Data, &data) != nil || data.RetryAfterMs <= 0 {
		return 0, false
	}
	return time.Duration(min(data.RetryAfterMs, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond, true
}

// CodeOf returns the kind of the first *Error in err's chain. It is empty for
// nil and CodeInternal for an error that has none.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}
