package catalog

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// mergedCatalog holds the features of all upstreams by the identifier that clients use:
// wire name, URI or URI template.
type mergedCatalog struct {
	tools     map[string]Entry[mcp.Tool]
	resources map[string]Entry[mcp.Resource]
	templates map[string]Entry[mcp.ResourceTemplate]
	prompts   map[string]Entry[mcp.Prompt]
}

func newMergedCatalog() *mergedCatalog {
	return &mergedCatalog{
		tools:     make(map[string]Entry[mcp.Tool]),
		resources: make(map[string]Entry[mcp.Resource]),
		templates: make(map[string]Entry[mcp.ResourceTemplate]),
		prompts:   make(map[string]Entry[mcp.Prompt]),
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
	offers     map[string]claim // by the normal form of the URI
	registered map[string]bool  // by URI
}

// publish makes the results of a merge available to requests. The caller holds mu.
func (m *merger) publish() {
	merged := &mergedResources{offers: maps.Clone(m.offers.byURI), registered: make(map[string]bool, len(m.registered.resources))}
	for uri := range m.registered.resources {
		merged.registered[uri] = true
	}
	m.merged.Store(merged)
}

// Merge registers the features of all upstreams and removes those that are gone. Clients
// get one notification for all changes of a list, and none if nothing changed. It repeats until
// imitations were searched in every catalog.
func (set *Set) Merge() {
	for !set.mergeSearched() {
		sources := set.list()
		for _, s := range sources {
			s.findImitations(s.Catalog(), otherKeys(s.Key, sources))
		}
	}
}

// mergeSearched merges the catalogs in which imitations were searched. It reports false, and does
// nothing, if there is another one.
func (set *Set) mergeSearched() bool {
	m := &set.merger
	m.mu.Lock()
	defer m.mu.Unlock()
	sources := set.list()
	inputs, searched := mergeInputs(sources)
	if !searched {
		return false
	}
	omitted := make(omissions)
	m.offers.update(sources, &set.claimOrder)
	wanted := mergeCatalogs(inputs, templateHolders(sources), &m.offers, omitted)
	server := set.server
	server.BatchChanges(func() {
		reconcile(m.registered.tools, wanted.tools, omitted, "tool", server.RemoveTool, func(entry Entry[mcp.Tool]) error {
			return server.SetTool(entry.Definition, entry.source.Handlers.Tool(entry, nil), entry.source.toolOptions()...)
		})
		reconcile(m.registered.resources, wanted.resources, omitted, "resource", server.RemoveResource, func(entry Entry[mcp.Resource]) error {
			return server.SetResource(entry.Definition, set.readResource, entry.source.resourceOptions()...)
		})
		reconcile(m.registered.templates, wanted.templates, omitted, "template", server.RemoveTemplate, func(entry Entry[mcp.ResourceTemplate]) error {
			return server.SetTemplate(entry.Definition, set.readResource, entry.source.templateOptions(entry.UpstreamName, nil)...)
		})
		reconcile(m.registered.prompts, wanted.prompts, omitted, "prompt", server.RemovePrompt, func(entry Entry[mcp.Prompt]) error {
			return server.SetPrompt(entry.Definition, entry.source.Handlers.Prompt(entry.UpstreamName, nil), entry.source.promptOptions(entry.UpstreamName, nil)...)
		})
	})
	m.publish()
	for _, s := range sources {
		s.setMerged(m.registered, omitted[s.Key].all())
	}
	return true
}

// mergeInput is what a merge reads of one upstream.
type mergeInput struct {
	source     *Source
	catalog    *Catalog // for clients
	imitations catalogImitations
}

// mergeInputs returns what a merge reads. It reports false if there is a catalog in which imitations
// were not searched.
func mergeInputs(sources []*Source) (inputs []mergeInput, searched bool) {
	for _, s := range sources {
		in := mergeInput{source: s, catalog: new(Catalog)}
		if cat := s.Catalog(); !s.isWithdrawn() {
			in.catalog = cat
			if in.imitations, searched = s.imitations.catalogResults(cat, otherKeys(s.Key, sources)); !searched {
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
		s, cat, imitates := in.source, in.catalog, in.imitations.of
		for _, t := range cat.admitted.Tools {
			if entry, ok := s.presenter.toolEntry(t, offered.holder, imitates, omitted); ok {
				addEntry(merged.tools, entry.Definition.Name, entry, omitted, "tool")
			}
		}
		for _, r := range cat.resources {
			entry := Entry[mcp.Resource]{source: &s.SourceParams, UpstreamName: r.URI, Definition: r}
			s.presenter.markResource(omitted, &entry.Definition, imitates)
			entry.Definition.URI = s.presenter.clientURI(r.URI, offered.holder(r.URI), "resource", omitted)
			addEntry(merged.resources, entry.Definition.URI, entry, omitted, "resource")
		}
		for _, t := range cat.admitted.Templates {
			entry := Entry[mcp.ResourceTemplate]{source: &s.SourceParams, UpstreamName: t.URITemplate, Definition: t}
			s.presenter.markTemplate(omitted, &entry.Definition, imitates)
			entry.Definition.URITemplate = s.presenter.clientTemplate(t.URITemplate, templates[t.URITemplate], omitted)
			addEntry(merged.templates, entry.Definition.URITemplate, entry, omitted, "template")
		}
		for _, p := range cat.admitted.Prompts {
			entry := s.presenter.promptEntry(p, imitates, omitted)
			addEntry(merged.prompts, entry.Definition.Name, entry, omitted, "prompt")
		}
	}
	return merged
}

// templateHolders returns for each URI template the key of the first upstream that has it, also
// while that is withdrawn.
func templateHolders(sources []*Source) map[string]string {
	holders := make(map[string]string)
	for _, s := range sources {
		for _, t := range s.Catalog().admitted.Templates {
			if holders[t.URITemplate] == "" {
				holders[t.URITemplate] = s.Key
			}
		}
	}
	return holders
}

// addEntry adds an entry unless its identifier is taken.
func addEntry[Def any](all map[string]Entry[Def], key string, entry Entry[Def], omitted omissions, kind string) {
	if existing, exists := all[key]; exists {
		omitted.add(entry.source.Key, "%s %q: upstream %q has it already", kind, entry.UpstreamName, existing.source.Key)
		return
	}
	all[key] = entry
}

// reconcile changes the registered entries of one kind, now, to the wanted ones. Entries
// that the server refuses are removed.
func reconcile[Def any](registered, wanted map[string]Entry[Def], omitted omissions, kind string, remove func(string) bool, register func(Entry[Def]) error) {
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
		if err := register(entry); err != nil {
			omitted.add(entry.source.Key, "%s %q: %v", kind, entry.UpstreamName, err)
			remove(key)
			delete(registered, key)
			continue
		}
		registered[key] = entry
	}
}

// offer returns the claim of the upstream that lists a resource.
func (m *merger) offer(uri string) (c claim, ok bool) {
	if merged := m.merged.Load(); merged != nil {
		c, ok = merged.offers[mcpserver.NormalizeURI(uri)]
	}
	return c, ok
}

// isRegistered reports whether a resource is registered at a URI.
func (m *merger) isRegistered(uri string) bool {
	merged := m.merged.Load()
	return merged != nil && merged.registered[uri]
}

// Replace replaces the sources, and merges what they offer.
func (set *Set) Replace(sources []*Source) {
	for _, s := range sources { // so that no merge has to wait for it
		s.findImitations(s.Catalog(), otherKeys(s.Key, sources))
	}
	set.mu.Lock()
	set.sources = sources
	set.mu.Unlock()
	set.Merge()
}

// findImitations finds out which texts of a catalog imitate another upstream, before a merge needs to
// know. The caller holds no lock.
func (s *Source) findImitations(cat *Catalog, others []string) {
	if _, known := s.imitations.catalogResults(cat, others); known {
		return
	}
	results := catalogImitations{catalog: cat, others: others, found: make(map[imitationText]string)}
	search, unused := s.imitations.searchFor(others), make(omissions)
	lookup := func(text string, title bool) string {
		key := search(text, title)
		if key != "" {
			results.found[imitationText{text, title}] = key
		}
		return key
	}
	for _, t := range cat.admitted.Tools {
		s.presenter.markTool(unused, &t, lookup)
	}
	for _, p := range cat.admitted.Prompts {
		s.presenter.markPrompt(unused, &p, lookup)
	}
	for _, r := range cat.resources {
		s.presenter.markResource(unused, &r, lookup)
	}
	for _, t := range cat.admitted.Templates {
		s.presenter.markTemplate(unused, &t, lookup)
	}
	s.imitations.addCatalog(results)
}

// Withdraw makes the set register no features of the upstream for now, or register them again.
func (s *Source) Withdraw(withdrawn bool) {
	if s.withdraw(withdrawn) {
		s.set.Merge()
	}
}

// setMerged stores which features of the upstream are registered after a merge.
func (s *Source) setMerged(now *mergedCatalog, notRegistered []string) {
	var offered []mcp.Tool
	for _, t := range s.Visible().admitted.Tools {
		if entry, ok := now.tools[host.WireName(s.Key, t.Name)]; ok && entry.source == &s.SourceParams && entry.UpstreamName == t.Name {
			offered = append(offered, entry.Definition)
		}
	}
	s.setRegistered(offered, notRegistered)
}
