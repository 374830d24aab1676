package mcp

// ListParams are the params of every request that returns a list in pages.
//
// Spec: 2026-07-28 server/utilities/pagination
type ListParams struct {
	// Cursor is the NextCursor of the previous page, or nil for the first page.
	// It is opaque; an empty cursor is a valid cursor.
	Cursor *string `json:"cursor,omitzero"`
	Meta   Meta    `json:"_meta,omitempty"`
}
