package mcp

import (
	"cmp"
	"encoding/json/jsontext"
)

// Tool is the definition of a tool that a client can call.
//
// Spec: 2026-07-28 server/tools#tool
type Tool struct {
	// Name identifies the tool: 1 to 128 characters of A-Z, a-z, 0-9, '_', '-'
	// and '.'.
	Name string `json:"name"`
	// Title is the name for users. DisplayName returns Name if it is empty.
	Title string `json:"title,omitzero"`
	// Description tells the model what the tool does.
	Description string `json:"description,omitzero"`
	// InputSchema is the JSON Schema of the arguments, an object with "type":
	// "object" at its root. It must be set.
	InputSchema jsontext.Value `json:"inputSchema"`
	// OutputSchema is the JSON Schema of the structured content, or nil.
	OutputSchema jsontext.Value   `json:"outputSchema,omitzero"`
	Annotations  *ToolAnnotations `json:"annotations,omitzero"`
	// Execution exists in 2025-11-25 only.
	Execution *ToolExecution `json:"execution,omitzero"`
	Icons     []Icon         `json:"icons,omitzero"`
	Meta      Meta           `json:"_meta,omitempty"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// DisplayName returns the first that is not empty: the title, the title of the
// annotations, or the name.
func (t Tool) DisplayName() string {
	if t.Annotations == nil {
		return cmp.Or(t.Title, t.Name)
	}
	return cmp.Or(t.Title, t.Annotations.Title, t.Name)
}

// TaskSupport returns whether the tool may be called as a task of 2025-11-25.
// The default is TaskForbidden.
func (t Tool) TaskSupport() TaskSupport {
	if t.Execution == nil || t.Execution.TaskSupport == "" {
		return TaskForbidden
	}
	return t.Execution.TaskSupport
}

// ToolAnnotations are hints about what a tool does. They are not guaranteed: a
// client must not rely on those of a server that it does not trust. The methods
// apply the defaults of the specification, also if the receiver is nil.
//
// Spec: 2026-07-28 schema#toolannotations
type ToolAnnotations struct {
	// Title is the title of the tool in older revisions.
	Title string `json:"title,omitzero"`
	// ReadOnlyHint: the tool does not modify its environment. Default false.
	ReadOnlyHint *bool `json:"readOnlyHint,omitzero"`
	// DestructiveHint: the tool may destroy or overwrite, not only add. Default
	// true; not meaningful for a read-only tool.
	DestructiveHint *bool `json:"destructiveHint,omitzero"`
	// IdempotentHint: a repeated call with the same arguments has no additional
	// effect. Default false; not meaningful for a read-only tool.
	IdempotentHint *bool `json:"idempotentHint,omitzero"`
	// OpenWorldHint: the tool interacts with external entities, as a web search
	// does and a memory does not. Default true.
	OpenWorldHint *bool `json:"openWorldHint,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// ReadOnly reports whether the tool does not modify its environment.
func (a *ToolAnnotations) ReadOnly() bool {
	return a != nil && hint(a.ReadOnlyHint, false)
}

// Destructive reports whether the tool may destroy or overwrite. It is false
// for a read-only tool.
func (a *ToolAnnotations) Destructive() bool {
	return a == nil || !a.ReadOnly() && hint(a.DestructiveHint, true)
}

// Idempotent reports whether a repeated call with the same arguments has no
// additional effect. It is true for a read-only tool.
func (a *ToolAnnotations) Idempotent() bool {
	return a != nil && (a.ReadOnly() || hint(a.IdempotentHint, false))
}

// OpenWorld reports whether the tool interacts with external entities.
func (a *ToolAnnotations) OpenWorld() bool {
	return a == nil || hint(a.OpenWorldHint, true)
}

// hint returns the declared value, or the default if there is none.
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
	// NextCursor is the cursor of the next page; nil means that this page is the last.
	NextCursor *string `json:"nextCursor,omitzero"`
}

// CallToolParams are the params of tools/call.
//
// Spec: 2026-07-28 server/tools#calling-tools
type CallToolParams struct {
	Name string `json:"name"`
	// Arguments is a JSON object, passed on unchanged, or nil for none.
	Arguments jsontext.Value `json:"arguments,omitzero"`
	InputResponseParams
	// Task requests that a task is created. Only 2025-11-25 has it.
	Task *TaskMetadata `json:"task,omitzero"`
	Meta Meta          `json:"_meta,omitempty"`
}

// CallToolResult is the result of a tool call.
//
// Spec: 2026-07-28 server/tools#tool-result
type CallToolResult struct {
	ResultBase
	// Content is for the model to read.
	Content Contents `json:"content"`
	// StructuredContent is any JSON value that conforms to the output schema of
	// the tool. Nil means absent; the JSON value null is a value.
	StructuredContent jsontext.Value `json:"structuredContent,omitzero"`
	// IsError means that the tool failed; Content says why.
	IsError bool `json:"isError,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}
