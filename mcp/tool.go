package mcp

import (
	"cmp"
	"encoding/json/jsontext"
)

// Tool describes a tool that a client can call.
//
// Spec: 2026-07-28 server/tools#tool
type Tool struct {
	// Name identifies the tool: 1 to 128 characters of A-Z, a-z, 0-9, '_', '-'
	// and '.'.
	Name string `json:"name"`
	// Title is for people. DisplayName says what to show without one.
	Title string `json:"title,omitzero"`
	// Description tells the model what the tool does.
	Description string `json:"description,omitzero"`
	// InputSchema is the JSON Schema of the arguments, an object with "type":
	// "object" at its root. It must be set.
	InputSchema jsontext.Value `json:"inputSchema"`
	// OutputSchema is the JSON Schema of the structured content, or nil.
	OutputSchema jsontext.Value   `json:"outputSchema,omitzero"`
	Annotations  *ToolAnnotations `json:"annotations,omitzero"`
	// Execution belongs to 2025-11-25.
	Execution *ToolExecution `json:"execution,omitzero"`
	Icons     []Icon         `json:"icons,omitzero"`
	Meta      Meta           `json:"_meta,omitempty"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// DisplayName returns the title, or else that of the annotations, or else the
// name.
func (t Tool) DisplayName() string {
	if t.Annotations == nil {
		return cmp.Or(t.Title, t.Name)
	}
	return cmp.Or(t.Title, t.Annotations.Title, t.Name)
}

// TaskSupport returns whether the tool may be called as a task of 2025-11-25.
// A tool that says nothing forbids it.
func (t Tool) TaskSupport() TaskSupport {
	if t.Execution == nil || t.Execution.TaskSupport == "" {
		return TaskForbidden
	}
	return t.Execution.TaskSupport
}

// ToolAnnotations are hints on what a tool does. They are not a promise:
// a client must not rely on those of a server that it does not trust. The
// methods apply the defaults of the specification, also to nil.
//
// Spec: 2026-07-28 schema#toolannotations
type ToolAnnotations struct {
	// Title is an older place for the title of the tool.
	Title string `json:"title,omitzero"`
	// ReadOnlyHint: the tool does not modify its environment. Default false.
	ReadOnlyHint *bool `json:"readOnlyHint,omitzero"`
	// DestructiveHint: the tool may destroy or overwrite, not only add.
	// Default true; without meaning for a read-only tool.
	DestructiveHint *bool `json:"destructiveHint,omitzero"`
	// IdempotentHint: a second call with the same arguments changes nothing
	// more. Default false; without meaning for a read-only tool.
	IdempotentHint *bool `json:"idempotentHint,omitzero"`
	// OpenWorldHint: the tool deals with entities outside a closed domain, as a
	// web search does and a memory does not. Default true.
	OpenWorldHint *bool `json:"openWorldHint,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// ReadOnly reports whether the tool leaves its environment as it is.
func (a *ToolAnnotations) ReadOnly() bool {
	return a != nil && hint(a.ReadOnlyHint, false)
}

// Destructive reports whether the tool may destroy or overwrite. It is false
// for a read-only tool.
func (a *ToolAnnotations) Destructive() bool {
	return a == nil || !a.ReadOnly() && hint(a.DestructiveHint, true)
}

// Idempotent reports whether a second call with the same arguments changes
// nothing more. It is true for a read-only tool.
func (a *ToolAnnotations) Idempotent() bool {
	return a != nil && (a.ReadOnly() || hint(a.IdempotentHint, false))
}

// OpenWorld reports whether the tool deals with entities outside a closed
// domain.
func (a *ToolAnnotations) OpenWorld() bool {
	return a == nil || hint(a.OpenWorldHint, true)
}

// hint returns what was said, or else the default.
func hint(said *bool, otherwise bool) bool {
	if said == nil {
		return otherwise
	}
	return *said
}

// ListToolsResult is one page of tools.
type ListToolsResult struct {
	ResultBase
	Caching
	Tools []Tool `json:"tools"`
	// NextCursor asks for the next page; nil means that this page is the last.
	NextCursor *string `json:"nextCursor,omitzero"`
}

// CallToolParams are the params of tools/call.
//
// Spec: 2026-07-28 server/tools#calling-tools
type CallToolParams struct {
	Name string `json:"name"`
	// Arguments is a JSON object, kept as it came, or nil for none.
	Arguments jsontext.Value `json:"arguments,omitzero"`
	InputResponseParams
	// Task asks for a task. It belongs to 2025-11-25.
	Task *TaskMetadata `json:"task,omitzero"`
	Meta Meta          `json:"_meta,omitempty"`
}

// CallToolResult is what a tool answered.
//
// Spec: 2026-07-28 server/tools#tool-result
type CallToolResult struct {
	ResultBase
	// Content is for the model to read.
	Content Contents `json:"content"`
	// StructuredContent is any JSON value that conforms to the output schema of
	// the tool. Nil is none; the JSON value null is a value.
	StructuredContent jsontext.Value `json:"structuredContent,omitzero"`
	// IsError tells that the tool failed, and that Content says why.
	IsError bool `json:"isError,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}
