package catalog

import (
	"maps"
	"slices"

	"github.com/fondaco/fondaco/host"
)

// initialLists are the names that an upstream listed first after it had started, by kind. A kind
// whose list could not be read has no entry. They are not changed after they were made.
type initialLists map[host.DefinitionKind]map[string]bool

// next returns what was listed before a catalog, which is nothing if the upstream has just started.
// It remembers the lists of the catalog of each kind that was not read since the start.
func (l *initialLists) next(c *Catalog, started bool) initialLists {
	before := *l
	if started {
		before = nil
	}
	after := maps.Clone(before)
	if after == nil {
		after = make(initialLists)
	}
	for kind, names := range c.namesByKind() {
		if after[kind] == nil && !slices.Contains(c.unread, kind) {
			after[kind] = names
		}
	}
	*l = after
	return before
}

// namesByKind returns the names of the definitions.
func (c *Catalog) namesByKind() map[host.DefinitionKind]map[string]bool {
	tools, prompts, templates, instructions := make(map[string]bool), make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for i := range c.tools {
		tools[c.tools[i].Name] = true
	}
	for i := range c.prompts {
		prompts[c.prompts[i].Name] = true
	}
	for i := range c.templates {
		templates[c.templates[i].URITemplate] = true
	}
	if c.instructions != "" {
		instructions[""] = true
	}
	return map[host.DefinitionKind]map[string]bool{
		host.KindTool: tools, host.KindPrompt: prompts, host.KindTemplate: templates, host.KindInstructions: instructions,
	}
}
