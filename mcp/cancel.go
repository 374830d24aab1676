package mcp

import (
	"context"
	"encoding/json/jsontext"
)

// CancelledParams are the params of notifications/cancelled.
//
// Spec: 2026-07-28 basic/patterns/cancellation
type CancelledParams struct {
	// RequestID is the id of the request to cancel: a JSON string or integer,
	// exactly as the sender of the request wrote it.
	RequestID jsontext.Value `json:"requestId,omitzero"`
	// Reason is a text for logs and users.
	Reason string `json:"reason,omitzero"`
	Meta   Meta   `json:"_meta,omitempty"`
}

// CancelledError is the cause (context.Cause) of the context of a handler whose request its peer has
// cancelled with notifications/cancelled. errors.Is reports that it is context.Canceled. A client
// whose call ends because of such a cause sends the reason on to its server.
type CancelledError struct {
	// Reason is the reason that the peer gave, cut after 1 KiB and without control characters. It
	// may be empty.
	Reason string
}

func (e *CancelledError) Error() string {
	if e.Reason == "" {
		return "cancelled by the peer"
	}
	return "cancelled by the peer: " + e.Reason
}

// Is reports whether target is context.Canceled.
func (e *CancelledError) Is(target error) bool { return target == context.Canceled }
