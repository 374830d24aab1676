package mcp

import "encoding/json/jsontext"

// Root is a directory or file that a client lets a server work on.
//
// Spec: 2026-07-28 client/roots
//
// Deprecated: Roots are deprecated by SEP-2577. The first revision released on
// or after 2027-07-28 may remove them. Pass directories and files in tool
// arguments, resource URIs or the configuration of the server instead.
type Root struct {
	// URI is a file URI.
	URI string `json:"uri"`
	// Name is for people.
	Name string `json:"name,omitzero"`
	Meta Meta   `json:"_meta,omitempty"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// ListRootsResult holds the roots of a client.
//
// Deprecated: part of Roots (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
type ListRootsResult struct {
	ResultBase
	Roots []Root `json:"roots"`
}
