package jsonrpc

import "encoding/json/jsontext"

// Kind is the kind of a message.
type Kind uint8

// The kinds of message.
const (
	// Invalid is the zero Kind: not a message.
	Invalid Kind = iota
	// Request has a method and an id, and expects a response.
	Request
	// Notification has a method and no id.
	Notification
	// Response has a result or an error.
	Response
)

func (k Kind) String() string {
	switch k {
	case Request:
		return "request"
	case Notification:
		return "notification"
	case Response:
		return "response"
	}
	return "invalid message"
}

// Message is one JSON-RPC message. Params, Result and Error.Data of a decoded message alias
// the bytes from which it was decoded: they are valid until those bytes are modified.
type Message struct {
	Kind Kind
	// ID is set for requests and responses; it may be zero only in a response
	// that is an error.
	ID ID
	// Method is set for requests and notifications.
	Method string
	// Params is an object, or nil when the member is absent.
	Params jsontext.Value
	// Result is set for a response that is not an error. It may be any value.
	Result jsontext.Value
	// Error is set for a response that is an error.
	Error *Error
}

// Error is the error member of a response.
type Error struct {
	Code    int64
	Message string
	// Data is any value, or nil when the member is absent.
	Data jsontext.Value
}

// The error codes for messages that are refused before their method is read.
const (
	// CodeParse: the text is not strict JSON.
	CodeParse int64 = -32700
	// CodeInvalidRequest: the text is JSON, but not a message, or over a limit.
	CodeInvalidRequest int64 = -32600
)
