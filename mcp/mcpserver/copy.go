package mcpserver

import (
	"encoding/json/jsontext"
	"maps"
	"slices"

	"github.com/fondaco/fondaco/mcp"
)

// Registration copies a definition twice: before its options run, so that they do
// not write into the maps of the caller, and after that, so that the registry
// shares no memory with the options. What an author does later with the maps,
// slices and pointers of a definition neither changes a list nor races with its
// encoding.

func copyTool(d mcp.Tool) mcp.Tool {
	d.InputSchema, d.OutputSchema, d.Extra = slices.Clone(d.InputSchema), slices.Clone(d.OutputSchema), slices.Clone(d.Extra)
	d.Icons, d.Meta = copyIcons(d.Icons), copyMeta(d.Meta)
	if d.Annotations = copyPointer(d.Annotations); d.Annotations != nil {
		a := d.Annotations
		a.ReadOnlyHint, a.DestructiveHint = copyPointer(a.ReadOnlyHint), copyPointer(a.DestructiveHint)
		a.IdempotentHint, a.OpenWorldHint = copyPointer(a.IdempotentHint), copyPointer(a.OpenWorldHint)
		a.Extra = slices.Clone(a.Extra)
	}
	if d.Execution = copyPointer(d.Execution); d.Execution != nil {
		d.Execution.Extra = slices.Clone(d.Execution.Extra)
	}
	return d
}

func copyResource(d mcp.Resource) mcp.Resource {
	d.Size, d.Annotations, d.Extra = copyPointer(d.Size), copyAnnotations(d.Annotations), slices.Clone(d.Extra)
	d.Icons, d.Meta = copyIcons(d.Icons), copyMeta(d.Meta)
	return d
}

func copyPrompt(d mcp.Prompt) mcp.Prompt {
	d.Icons, d.Meta, d.Extra = copyIcons(d.Icons), copyMeta(d.Meta), slices.Clone(d.Extra)
	d.Arguments = slices.Clone(d.Arguments)
	for i := range d.Arguments {
		d.Arguments[i].Extra = slices.Clone(d.Arguments[i].Extra)
	}
	return d
}

func copyAnnotations(a *mcp.Annotations) *mcp.Annotations {
	if a = copyPointer(a); a != nil {
		a.Audience, a.Priority, a.Extra = slices.Clone(a.Audience), copyPointer(a.Priority), slices.Clone(a.Extra)
	}
	return a
}

func copyIcons(icons []mcp.Icon) []mcp.Icon {
	icons = slices.Clone(icons)
	for i := range icons {
		icons[i].Sizes, icons[i].Extra = slices.Clone(icons[i].Sizes), slices.Clone(icons[i].Extra)
	}
	return icons
}

func copyMeta(m mcp.Meta) mcp.Meta { return copyValues(m) }

// copyValues copies a map together with its values.
func copyValues[M ~map[string]jsontext.Value](m M) M {
	m = maps.Clone(m)
	for key, value := range m {
		m[key] = slices.Clone(value)
	}
	return m
}

func copyPointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}
