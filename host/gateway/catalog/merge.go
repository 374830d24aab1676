package catalog

import (
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

// Entry is a feature as clients see it, and the upstream that has it.
type Entry[Def any] struct {
	Source       *Source
	UpstreamName string // the name at the upstream
	Definition   Def
	// Listed is the definition of a tool as the upstream has it, to which consent is bound.
	Listed Def
	// Verdict says whether calls of a tool need consent.
	Verdict host.Verdict
}

// equal reports whether two entries stand for the same feature, and need consent to the same.
func (e Entry[Def]) equal(other Entry[Def]) bool {
	return e.Source == other.Source && e.Verdict == other.Verdict && reflect.DeepEqual(e.Definition, other.Definition) &&
		(e.Verdict != host.Confirm || reflect.DeepEqual(e.Listed, other.Listed))
}

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

// Merge registers the features of all upstreams and removes those that are gone. Clients
// get one notification for all changes of a list, and none if nothing changed. It repeats until
// imitations were searched in every catalog.
func (set *Set) Merge() {
	for !set.mergeSearched() {
		sources := set.list()
		for _, s := range sources {
			s.findImitations(s.Catalog(), otherKeys(s, sources))
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
			return server.SetTool(entry.Definition, entry.Source.Handlers.Tool(entry, nil), entry.Source.toolOptions()...)
		})
		reconcile(m.registered.resources, wanted.resources, omitted, "resource", server.RemoveResource, func(entry Entry[mcp.Resource]) error {
			return server.SetResource(entry.Definition, set.readResource, entry.Source.resourceOptions()...)
		})
		reconcile(m.registered.templates, wanted.templates, omitted, "template", server.RemoveTemplate, func(entry Entry[mcp.ResourceTemplate]) error {
			return server.SetTemplate(entry.Definition, set.readResource, entry.Source.Handlers.TemplateOptions(entry.UpstreamName, nil)...)
		})
		reconcile(m.registered.prompts, wanted.prompts, omitted, "prompt", server.RemovePrompt, func(entry Entry[mcp.Prompt]) error {
			return server.SetPrompt(entry.Definition, entry.Source.Handlers.Prompt(entry.UpstreamName, nil), entry.Source.Handlers.PromptOptions(entry.UpstreamName, nil)...)
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
			if in.imitations, searched = s.imitations.catalogResults(cat, otherKeys(s, sources)); !searched {
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
			if entry, ok := s.toolEntry(t, offered.holder, imitates, omitted); ok {
				addEntry(merged.tools, entry.Definition.Name, entry, omitted, "tool")
			}
		}
		for _, r := range cat.resources {
			entry := Entry[mcp.Resource]{Source: s, UpstreamName: r.URI, Definition: r}
			s.presenter.markResource(omitted, &entry.Definition, imitates)
			entry.Definition.URI = s.presenter.clientURI(r.URI, offered.byURI[r.URI].key, "resource", omitted)
			addEntry(merged.resources, entry.Definition.URI, entry, omitted, "resource")
		}
		for _, t := range cat.admitted.Templates {
			entry := Entry[mcp.ResourceTemplate]{Source: s, UpstreamName: t.URITemplate, Definition: t}
			s.presenter.markTemplate(omitted, &entry.Definition, imitates)
			entry.Definition.URITemplate = s.presenter.clientTemplate(t.URITemplate, templates[t.URITemplate], omitted)
			addEntry(merged.templates, entry.Definition.URITemplate, entry, omitted, "template")
		}
		for _, p := range cat.admitted.Prompts {
			entry := s.promptEntry(p, imitates, omitted)
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

// toolOptions make the server pass on a tool as it came, unless the user wants it validated.
func (s *Source) toolOptions() []mcpserver.ToolOption {
	if s.Settings.Validate {
		return nil
	}
	return []mcpserver.ToolOption{mcpserver.Proxied()}
}

// resourceOptions are toolOptions for a resource.
func (s *Source) resourceOptions() []mcpserver.ResourceOption {
	if s.Settings.Validate {
		return nil
	}
	return []mcpserver.ResourceOption{mcpserver.Proxied()}
}

// addEntry adds an entry unless its identifier is taken.
func addEntry[Def any](all map[string]Entry[Def], key string, entry Entry[Def], omitted omissions, kind string) {
	if existing, exists := all[key]; exists {
		omitted.add(entry.Source.Key, "%s %q: upstream %q has it already", kind, entry.UpstreamName, existing.Source.Key)
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
			omitted.add(entry.Source.Key, "%s %q: %v", kind, entry.UpstreamName, err)
			remove(key)
			delete(registered, key)
			continue
		}
		registered[key] = entry
	}
}

// omissions has for each upstream, by key, which of its features are not registered, and why.
type omissions map[string]*omissionTexts

func (o omissions) add(key, format string, args ...any) {
	if o[key] == nil {
		o[key] = new(omissionTexts)
	}
	o[key].add(format, args...)
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
