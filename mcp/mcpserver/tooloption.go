package mcpserver

import "github.com/fondaco/fondaco/mcp"

// ReadOnly is the option that tells clients that a tool changes nothing.
func ReadOnly() ToolOption {
	return hint(func(a *mcp.ToolAnnotations) { a.ReadOnlyHint = new(true) })
}

// Additive is the option that tells clients that a tool only adds and destroys
// nothing. Without it they have to expect the worst.
func Additive() ToolOption {
	return hint(func(a *mcp.ToolAnnotations) { a.DestructiveHint = new(false) })
}

// Idempotent is the option that tells clients that calling a tool again with the
// same arguments has no further effect.
func Idempotent() ToolOption {
	return hint(func(a *mcp.ToolAnnotations) { a.IdempotentHint = new(true) })
}

// ClosedWorld is the option that tells clients that a tool deals with a closed
// set of things only, and not with the open world.
func ClosedWorld() ToolOption {
	return hint(func(a *mcp.ToolAnnotations) { a.OpenWorldHint = new(false) })
}

// hint changes the annotations of a tool.
type hint func(*mcp.ToolAnnotations)

func (h hint) tool(t *tool) {
	a := new(mcp.ToolAnnotations)
	if t.def.Annotations != nil {
		*a = *t.def.Annotations
	}
	h(a)
	t.def.Annotations = a
}
