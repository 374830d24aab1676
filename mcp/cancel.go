package mcp

import "encoding/json/jsontext"

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
