package gateway

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

// catalogEntry is a feature as clients see it, and the upstream that has it.
type catalogEntry[Def any] struct {
	upstream     *upstream
	upstreamName string // the name at the upstream
	definition   Def
	// verdict says whether calls of a tool need consent.
	verdict host.Verdict
}

// mergedCatalog holds the features of all upstreams by the identifier that clients use:
// wire name, URI or URI template.
type mergedCatalog struct {
	tools     map[string]catalogEntry[mcp.Tool]
	resources map[string]catalogEntry[mcp.Resource]
	templates map[string]catalogEntry[mcp.ResourceTemplate]
	prompts   map[string]catalogEntry[mcp.Prompt]
}

func newMergedCatalog() *mergedCatalog {
	return &mergedCatalog{
		tools:     make(map[string]catalogEntry[mcp.Tool]),
		resources: make(map[string]catalogEntry[mcp.Resource]),
		templates: make(map[string]catalogEntry[mcp.ResourceTemplate]),
		prompts:   make(map[string]catalogEntry[mcp.Prompt]),
	}
}

// merger keeps the features that the server registers equal to those that the upstreams
// have.
type merger struct {
	mu         sync.Mutex     // held during a merge
	registered *mergedCatalog // guarded by mu: what the server has registered
}

// merge registers the features of all upstreams and removes those that are gone. Clients
// get one notification for all changes of a list, and none if nothing changed.
func (g *Gateway) merge() {
	m := &g.merger
	m.mu.Lock()
	defer m.mu.Unlock()
	omitted := make(omissions)
	upstreams := g.list()
	wanted := mergeCatalogs(upstreams, omitted)
	s := g.server
	s.BatchChanges(func() {
		reconcile(m.registered.tools, wanted.tools, omitted, "tool", s.RemoveTool, func(entry catalogEntry[mcp.Tool]) error {
			return s.SetTool(entry.definition, entry.upstream.callTool(entry, nil))
		})
		reconcile(m.registered.resources, wanted.resources, omitted, "resource", s.RemoveResource, func(entry catalogEntry[mcp.Resource]) error {
			return s.SetResource(entry.definition, entry.upstream.readResource(nil))
		})
		reconcile(m.registered.templates, wanted.templates, omitted, "template", s.RemoveTemplate, func(entry catalogEntry[mcp.ResourceTemplate]) error {
			return s.SetTemplate(entry.definition, entry.upstream.readResource(nil), entry.upstream.templateOptions(entry.upstreamName, nil)...)
		})
		reconcile(m.registered.prompts, wanted.prompts, omitted, "prompt", s.RemovePrompt, func(entry catalogEntry[mcp.Prompt]) error {
			return s.SetPrompt(entry.definition, entry.upstream.getPrompt(entry.upstreamName, nil), entry.upstream.promptOptions(entry.upstreamName, nil)...)
		})
	})
	for _, u := range upstreams {
		u.setMerged(m.registered, omitted[u])
	}
}

// mergeCatalogs returns the features of all upstreams. If two have the same, the first
// wins.
func mergeCatalogs(upstreams []*upstream, omitted omissions) *mergedCatalog {
	merged := newMergedCatalog()
	for _, u := range upstreams {
		cat := u.visibleCatalog()
		for _, t := range cat.approved {
			if entry, ok := u.toolEntry(t, omitted); ok {
				addEntry(merged.tools, entry.definition.Name, entry, omitted, "tool")
			}
		}
		for _, r := range cat.resources {
			addEntry(merged.resources, r.URI, catalogEntry[mcp.Resource]{upstream: u, upstreamName: r.URI, definition: r}, omitted, "resource")
		}
		for _, t := range cat.templates {
			addEntry(merged.templates, t.URITemplate, catalogEntry[mcp.ResourceTemplate]{upstream: u, upstreamName: t.URITemplate, definition: t}, omitted, "template")
		}
		for _, p := range cat.prompts {
			entry := u.promptEntry(p)
			addEntry(merged.prompts, entry.definition.Name, entry, omitted, "prompt")
		}
	}
	return merged
}

// toolEntry returns a tool as clients see it. It reports false for a tool that the rules deny
// or that the host cannot call.
func (u *upstream) toolEntry(t mcp.Tool, omitted omissions) (catalogEntry[mcp.Tool], bool) {
	entry := catalogEntry[mcp.Tool]{u, t.Name, t, u.Settings.Rules.Verdict(&t)}
	if entry.verdict == host.Deny {
		return entry, false
	}
	if t.TaskSupport() == mcp.TaskRequired {
		omitted.add(u, "tool %q: it must be called as a task, which the host does not support", t.Name)
		return entry, false
	}
	entry.definition.Name, entry.definition.Execution = host.WireName(u.Key, t.Name), nil
	return entry, true
}

// promptEntry returns a prompt as clients see it.
func (u *upstream) promptEntry(p mcp.Prompt) catalogEntry[mcp.Prompt] {
	entry := catalogEntry[mcp.Prompt]{upstream: u, upstreamName: p.Name, definition: p}
	entry.definition.Name = host.WireName(u.Key, p.Name)
	return entry
}

// addEntry adds an entry unless its identifier is taken.
func addEntry[Def any](all map[string]catalogEntry[Def], key string, entry catalogEntry[Def], omitted omissions, kind string) {
	if existing, exists := all[key]; exists {
		omitted.add(entry.upstream, "%s %q: upstream %q has it already", kind, entry.upstreamName, existing.upstream.Key)
		return
	}
	all[key] = entry
}

// reconcile changes the registered entries of one kind, now, to the wanted ones. Entries
// that the server refuses are removed.
func reconcile[Def any](registered, wanted map[string]catalogEntry[Def], omitted omissions, kind string, remove func(string) bool, set func(catalogEntry[Def]) error) {
	for key := range registered {
		if _, ok := wanted[key]; !ok {
			remove(key)
			delete(registered, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		entry := wanted[key]
		if have, ok := registered[key]; ok && have.upstream == entry.upstream && have.verdict == entry.verdict && reflect.DeepEqual(have.definition, entry.definition) {
			continue
		}
		if err := set(entry); err != nil {
			omitted.add(entry.upstream, "%s %q: %v", kind, entry.upstreamName, err)
			remove(key)
			delete(registered, key)
			continue
		}
		registered[key] = entry
	}
}

// omissions lists for each upstream which of its features are not registered, and why.
type omissions map[*upstream][]string

// maxOmissions limits the lines for one upstream.
const maxOmissions = 100

func (r omissions) add(u *upstream, format string, args ...any) {
	if len(r[u]) < maxOmissions {
		r[u] = append(r[u], fmt.Sprintf(format, args...))
	}
}

// owner returns the upstream whose resource is registered at a URI, or nil.
func (m *merger) owner(uri string) *upstream {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.registered.resources[uri].upstream
}
