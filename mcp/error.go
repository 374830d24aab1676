package mcp

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
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
	// CodeURLElicitationRequired: URL visits have to be made first (2025-11-25).
	CodeURLElicitationRequired Code = "url elicitation required"
	// CodeRejected: the user refused the request (sampling of the session era).
	CodeRejected Code = "rejected by user"
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
