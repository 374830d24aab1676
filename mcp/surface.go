package mcp

import (
	"cmp"
	"fmt"
	"slices"
)

// Surface is what a server shows of itself before anything is called: the texts and
// schemas that a model and a user see. mcpclient.Client.Surface reads that of a server.
//
// Fingerprint identifies the whole; the order of the features does not count.
// mcptest.CompareSurfaces tells what a change of the server means for its clients.
type Surface struct {
	Instructions string             `json:"instructions,omitzero"`
	Tools        []Tool             `json:"tools,omitzero"`
	Prompts      []Prompt           `json:"prompts,omitzero"`
	Resources    []Resource         `json:"resources,omitzero"`
	Templates    []ResourceTemplate `json:"resourceTemplates,omitzero"`
}

// Sorted returns a copy of the surface with its features ordered by name or URI, and
// without Tool.Execution. Lists without elements become nil.
func (s Surface) Sorted() Surface {
	s.Tools = sortedBy(s.Tools, func(t Tool) string { return t.Name })
	for i := range s.Tools {
		s.Tools[i].Execution = nil
	}
	s.Prompts = sortedBy(s.Prompts, func(p Prompt) string { return p.Name })
	s.Resources = sortedBy(s.Resources, func(r Resource) string { return r.URI })
	s.Templates = sortedBy(s.Templates, func(t ResourceTemplate) string { return t.URITemplate })
	return s
}

func sortedBy[Def any](defs []Def, key func(Def) string) []Def {
	if len(defs) == 0 {
		return nil
	}
	sorted := slices.Clone(defs)
	slices.SortStableFunc(sorted, func(a, b Def) int { return cmp.Compare(key(a), key(b)) })
	return sorted
}

// Fingerprint returns the fingerprint of the whole surface.
func (s Surface) Fingerprint() (Fingerprint, error) {
	f, err := fingerprintOf(s.Sorted())
	if err != nil {
		return "", fmt.Errorf("fingerprint of the surface: %w", err)
	}
	return f, nil
}
