package mcp

import "encoding/json/jsontext"

// Role is a side of a conversation.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Annotations inform a client how something is meant to be used or shown. They
// are hints, and untrusted unless their server is trusted.
//
// Spec: 2026-07-28 server/resources#annotations
type Annotations struct {
	// Audience names whom the thing is for; empty means that nothing was said.
	Audience []Role `json:"audience,omitzero"`
	// Priority runs from 0, entirely optional, to 1, effectively required. Nil
	// means that nothing was said.
	Priority *float64 `json:"priority,omitzero"`
	// LastModified is a moment in ISO 8601, such as 2025-01-12T15:00:58Z. It is
	// kept as it came.
	LastModified string `json:"lastModified,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}
