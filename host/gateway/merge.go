package gateway

import (
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

// catalogEntry is a feature as clients see it, and the upstream that has it.
type catalogEntry[Def any] struct {
	upstream     *upstream
	upstreamName string // the name at the upstream
	definition   Def
	// listed is the definition of a tool as the upstream has it, to which consent is bound.
	listed Def
	// verdict says whether calls of a tool need consent.
	verdict host.Verdict
}

// equal reports whether two entries stand for the same feature, and need consent to the same.
func (e catalogEntry[Def]) equal(other catalogEntry[Def]) bool {
	return e.upstream == other.upstream && e.verdict == other.verdict && reflect.DeepEqual(e.definition, other.definition) &&
		(e.verdict != host.Confirm || reflect.DeepEqual(e.listed, other.listed))
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
	offers     offers         // guarded by mu

	// merged is the result of the last merge for the resources. Requests read it, so that they do
	// not wait for a merge.
	merged atomic.Pointer[mergedResources]
}

// mergedResources are the results of a merge about resources. They are not changed.
type mergedResources struct {
	offers     map[string]claim
	registered map[string]bool // by URI
}

// publish makes the results of a merge available to requests. The caller holds mu.
func (m *merger) publish() {
	merged := &mergedResources{offers: maps.Clone(m.offers.byURI), registered: make(map[string]bool, len(m.registered.resources))}
	for uri := range m.registered.resources {
		merged.registered[uri] = true
	}
	m.merged.Store(merged)
}

// merge registers the features of all upstreams and removes those that are gone. Clients
// get one notification for all changes of a list, and none if nothing changed. It repeats until
// imitations were searched in every catalog.
func (g *Gateway) merge() {
	for !g.mergeSearched() {
		upstreams := g.list()
		for _, u := range upstreams {
			u.findImitations(u.lastCatalog(), u.otherKeys(upstreams))
		}
	}
}

// mergeSearched merges the catalogs in which imitations were searched. It reports false, and does
// nothing, if there is another one.
func (g *Gateway) mergeSearched() bool {
	m := &g.merger
	m.mu.Lock()
	defer m.mu.Unlock()
	upstreams := g.list()
	inputs, searched := mergeInputs(upstreams)
	if !searched {
		return false
	}
	omitted := make(omissions)
	m.offers.update(upstreams, &g.claimOrder)
	wanted := mergeCatalogs(inputs, templateHolders(upstreams), &m.offers, omitted)
	s := g.server
	s.BatchChanges(func() {
		reconcile(m.registered.tools, wanted.tools, omitted, "tool", s.RemoveTool, func(entry catalogEntry[mcp.Tool]) error {
			return s.SetTool(entry.definition, entry.upstream.callTool(entry, nil), entry.upstream.toolOptions()...)
		})
		reconcile(m.registered.resources, wanted.resources, omitted, "resource", s.RemoveResource, func(entry catalogEntry[mcp.Resource]) error {
			return s.SetResource(entry.definition, g.readResource, entry.upstream.resourceOptions()...)
		})
		reconcile(m.registered.templates, wanted.templates, omitted, "template", s.RemoveTemplate, func(entry catalogEntry[mcp.ResourceTemplate]) error {
			return s.SetTemplate(entry.definition, g.readResource, entry.upstream.templateOptions(entry.upstreamName, nil)...)
		})
		reconcile(m.registered.prompts, wanted.prompts, omitted, "prompt", s.RemovePrompt, func(entry catalogEntry[mcp.Prompt]) error {
			return s.SetPrompt(entry.definition, entry.upstream.getPrompt(entry.upstreamName, nil), entry.upstream.promptOptions(entry.upstreamName, nil)...)
		})
	})
	m.publish()
	for _, u := range upstreams {
		u.setMerged(m.registered, omitted[u].all())
	}
	return true
}

// mergeInput is what a merge reads of one upstream.
type mergeInput struct {
	upstream   *upstream
	catalog    *catalog // for clients
	imitations catalogImitations
}

// mergeInputs returns what a merge reads. It reports false if there is a catalog in which imitations
// were not searched.
func mergeInputs(upstreams []*upstream) (inputs []mergeInput, searched bool) {
	for _, u := range upstreams {
		in := mergeInput{upstream: u, catalog: new(catalog)}
		if cat := u.lastCatalog(); !u.isWithdrawn() {
			in.catalog = cat
			if in.imitations, searched = u.imitations.catalogResults(cat, u.otherKeys(upstreams)); !searched {
				return nil, false
			}
		}
		inputs = append(inputs, in)
	}
	return inputs, true
}

// mergeCatalogs returns the features of all upstreams as clients see them. templates has the keys of
// the upstreams that have the plain URI templates.
func mergeCatalogs(inputs []mergeInput, templates map[string]string, offered *offers, omitted omissions) *mergedCatalog {
	merged := newMergedCatalog()
	for _, in := range inputs {
		u, cat, imitates := in.upstream, in.catalog, in.imitations.of
		for _, t := range cat.admitted.Tools {
			if entry, ok := u.toolEntry(t, offered.holder, imitates, omitted); ok {
				addEntry(merged.tools, entry.definition.Name, entry, omitted, "tool")
			}
		}
		for _, r := range cat.resources {
			entry := catalogEntry[mcp.Resource]{upstream: u, upstreamName: r.URI, definition: r}
			u.markResource(omitted, &entry.definition, imitates)
			entry.definition.URI = u.clientURI(r.URI, offered.byURI[r.URI].key, "resource", omitted)
			addEntry(merged.resources, entry.definition.URI, entry, omitted, "resource")
		}
		for _, t := range cat.admitted.Templates {
			entry := catalogEntry[mcp.ResourceTemplate]{upstream: u, upstreamName: t.URITemplate, definition: t}
			u.markTemplate(omitted, &entry.definition, imitates)
			entry.definition.URITemplate = u.clientTemplate(t.URITemplate, templates[t.URITemplate], omitted)
			addEntry(merged.templates, entry.definition.URITemplate, entry, omitted, "template")
		}
		for _, p := range cat.admitted.Prompts {
			entry := u.promptEntry(p, imitates, omitted)
			addEntry(merged.prompts, entry.definition.Name, entry, omitted, "prompt")
		}
	}
	return merged
}

// templateHolders returns for each URI template the key of the first upstream that has it, also
// while that is withdrawn.
func templateHolders(upstreams []*upstream) map[string]string {
	holders := make(map[string]string)
	for _, u := range upstreams {
		for _, t := range u.lastCatalog().admitted.Templates {
			if holders[t.URITemplate] == "" {
				holders[t.URITemplate] = u.Key
			}
		}
	}
	return holders
}

// toolEntry returns a tool as clients see it. It reports false for a tool that the rules deny
// or that the host cannot call. holder returns the key of the upstream that has a resource.
func (u *upstream) toolEntry(t mcp.Tool, holder func(uri string) string, imitates imitationLookup, omitted omissions) (catalogEntry[mcp.Tool], bool) {
	entry := catalogEntry[mcp.Tool]{u, t.Name, t, t, u.Settings.Rules.Verdict(&t)}
	if entry.verdict == host.Deny {
		return entry, false
	}
	if t.TaskSupport() == mcp.TaskRequired {
		omitted.add(u, "tool %q: it must be called as a task, which the host does not support", t.Name)
		return entry, false
	}
	u.markTool(omitted, &entry.definition, imitates)
	u.removeForeignLinks(&entry.definition, holder, omitted)
	entry.definition.Name, entry.definition.Execution = host.WireName(u.Key, t.Name), nil
	return entry, true
}

// promptEntry returns a prompt as clients see it.
func (u *upstream) promptEntry(p mcp.Prompt, imitates imitationLookup, omitted omissions) catalogEntry[mcp.Prompt] {
	entry := catalogEntry[mcp.Prompt]{upstream: u, upstreamName: p.Name, definition: p}
	u.markPrompt(omitted, &entry.definition, imitates)
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
		if have, ok := registered[key]; ok && have.equal(entry) {
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

// omissions has for each upstream which of its features are not registered, and why.
type omissions map[*upstream]*omissionTexts

func (o omissions) add(u *upstream, format string, args ...any) {
	if o[u] == nil {
		o[u] = new(omissionTexts)
	}
	o[u].add(format, args...)
}

// offer returns the claim of the upstream that lists a resource.
func (m *merger) offer(uri string) (c claim, ok bool) {
	if merged := m.merged.Load(); merged != nil {
		c, ok = merged.offers[uri]
	}
	return c, ok
}

// isRegistered reports whether a resource is registered at a URI.
func (m *merger) isRegistered(uri string) bool {
	merged := m.merged.Load()
	return merged != nil && merged.registered[uri]
}
