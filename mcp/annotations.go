package mcp

import "encoding/json/jsontext"

// Role is a party to a conversation: the user or the assistant.
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
	// Audience lists the roles that the content is intended for; empty means
	// unspecified.
	Audience []Role `json:"audience,omitzero"`
	// Priority ranges from 0, entirely optional, to 1, effectively required.
	// Nil means unspecified.
	Priority *float64 `json:"priority,omitzero"`
	// LastModified is a timestamp in ISO 8601, such as 2025-01-12T15:00:58Z. It
	// is neither parsed nor changed.
	LastModified string `json:"lastModified,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}
