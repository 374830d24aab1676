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

// Define is the option that changes the definition of a tool, such as its title,
// icons or metadata, before it is checked.
func Define(change func(*mcp.Tool)) ToolOption { return define(change) }

type define func(*mcp.Tool)

func (d define) tool(t *tool) { d(&t.def) }

// Wrap is the option that wraps the calls of one tool. next does a whole call,
// with everything that the other options of the tool ask for: its result may be
// sent, and its error is one of the protocol or a private one. Arguments are valid
// by then. The first option is the outermost.
func Wrap(wrap func(next ToolHandler) ToolHandler) ToolOption { return wrapper(wrap) }

type wrapper func(ToolHandler) ToolHandler

func (w wrapper) tool(t *tool) { t.wraps = append(t.wraps, w) }

// Together is the option that stands for several.
func Together(opts ...ToolOption) ToolOption { return together(opts) }

type together []ToolOption

func (all together) tool(t *tool) {
	for _, o := range all {
		o.tool(t)
	}
}
