package mcpserver

import "github.com/fondaco/fondaco/mcp"

// Describe is the option that describes a resource to models and users.
func Describe(text string) ResourceOption { return describe(text) }

type describe string

func (d describe) resource(r *resource) { r.def.Description = string(d) }

// Annotate is the option that says for whom a resource is, and how much it matters.
func Annotate(a mcp.Annotations) ResourceOption { return annotate(a) }

type annotate mcp.Annotations

func (a annotate) resource(r *resource) { r.def.Annotations = new(mcp.Annotations(a)) }
