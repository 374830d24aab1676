package mcptest

import (
	"encoding/json/jsontext"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcptest/internal/surfacediff"
)

// SurfaceChange is one difference between two surfaces of a server.
type SurfaceChange struct {
	// Subject is the feature, such as `tool "add"`, or "instructions".
	Subject string
	// Member locates the difference in its definition, such as
	// /inputSchema/properties/a/type. It is empty for the feature as a whole.
	Member jsontext.Pointer
	// Text says what has changed.
	Text string
	// Breaking reports whether a client or model that works with the old surface can fail
	// with the new one. All other changes are compatible.
	Breaking bool
}

// String returns the verdict, breaking or compatible, and what has changed where.
func (c SurfaceChange) String() string {
	verdict := "compatible"
	if c.Breaking {
		verdict = "breaking"
	}
	if c.Member == "" {
		return fmt.Sprintf("%s: %s: %s", verdict, c.Subject, c.Text)
	}
	return fmt.Sprintf("%s: %s: %s: %s", verdict, c.Subject, c.Member, c.Text)
}

// CompareSurfaces returns what changed from an older surface to a newer one: of each feature
// by name or URI, in their order. It returns nil if and only if both have the same
// fingerprint. It fails if a raw member is not valid JSON.
//
// Breaking are: a feature, property or argument that is removed; arguments that were valid
// and no longer are; results that were not possible and now are; a hint of the annotations
// that promises less, such as a tool that is no longer read-only; another MIME type; and a
// change of a schema that cannot be judged, such as that of a $ref. Texts, icons and
// metadata are compatible.
func CompareSurfaces(older, newer mcp.Surface) ([]SurfaceChange, error) {
	var d surfacediff.Diff
	d.Text("instructions", older.Instructions, newer.Instructions)
	older, newer = older.Sorted(), newer.Sorted()
	surfacediff.Features(&d, "tool", older.Tools, newer.Tools, func(t mcp.Tool) string { return t.Name })
	surfacediff.Features(&d, "prompt", older.Prompts, newer.Prompts, func(p mcp.Prompt) string { return p.Name })
	surfacediff.Features(&d, "resource", older.Resources, newer.Resources, func(r mcp.Resource) string { return r.URI })
	surfacediff.Features(&d, "resource template", older.Templates, newer.Templates, func(t mcp.ResourceTemplate) string { return t.URITemplate })
	found, err := d.Changes()
	var changes []SurfaceChange
	for _, c := range found {
		changes = append(changes, SurfaceChange(c))
	}
	return changes, err
}
