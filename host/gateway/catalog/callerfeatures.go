package catalog

import (
	"context"
	"reflect"
	"slices"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// maxCallerFeatures limits the features that one upstream has for one caller, or for certain
	// capabilities, and maxCallerFeatureBytes their definitions. The rest is left out, tools last.
	maxCallerFeatures     = 1000
	maxCallerFeatureBytes = 1 << 20
)

// callerFeatures are the features of an upstream that only some callers see: those whose client
// has certain capabilities, or the caller of one connection. They are not changed after they
// were made.
type callerFeatures struct {
	found *Catalog // as the upstream defines them, without those of everybody
	set   *mcpserver.FeatureSet
	on    *link.Conn // over which requests for them are sent, or nil
	// claims are the numbers of the claims on the URIs of the resources, see claim.
	claims  map[string]uint64
	listing host.Listing // who sees them
	bytes   int          // of the definitions
}

// newCallerFeatures returns the listed features that are not among the known ones. The same rules and
// approvals apply to them as to all features. l says who sees them. before are those that were read
// last, or nil. Requests for them use the connection on; nil stands for any connection of their
// caller.
func (s *Source) newCallerFeatures(ctx context.Context, listed, known *Catalog, before *callerFeatures, l host.Listing, on *link.Conn) (*callerFeatures, error) {
	var size callerFeatureSize
	c := &callerFeatures{
		set:     s.set.server.NewFeatureSet(),
		on:      on,
		listing: l,
		found: &Catalog{
			version:   listed.version,
			unread:    listed.unread,
			tools:     missing(listed.tools, known.tools, func(t *mcp.Tool) string { return t.Name }, &size),
			prompts:   missing(listed.prompts, known.prompts, func(p *mcp.Prompt) string { return p.Name }, &size),
			resources: missing(listed.resources, known.resources, func(r *mcp.Resource) string { return r.URI }, &size),
			templates: missing(listed.templates, known.templates, func(t *mcp.ResourceTemplate) string { return t.URITemplate }, &size),
		},
	}
	c.bytes = size.bytes
	if size.left > 0 {
		s.Log.Warn("features for some callers are left out", "number", size.left, "limit", maxCallerFeatures, "limit bytes", maxCallerFeatureBytes)
	}
	if err := s.filter(ctx, c.found, l); err != nil {
		return nil, err
	}
	s.recordFiltered(before.catalog().admitted, c.found.admitted)
	c.claimResources(before, &s.set.claimOrder)
	s.fillSet(c, on)
	return c, nil
}

// claimResources claims the URIs of the resources, and of the documents of tools. Claims of before
// stay.
func (c *callerFeatures) claimResources(before *callerFeatures, order *claimOrder) {
	c.claims = make(map[string]uint64, len(c.found.resources))
	for uri := range c.found.claimable() {
		if before != nil {
			c.claims[uri] = before.claims[uri]
		}
		if c.claims[uri] == 0 {
			c.claims[uri] = order.next()
		}
	}
}

// fillSet adds the features that were found to the set, except those that the server refuses.
func (s *Source) fillSet(c *callerFeatures, on *link.Conn) {
	p, omitted, imitates := s.presenter, make(omissions), s.imitations.searchFor(s.set.otherKeys(s))
	note := func(err error) {
		if err != nil {
			omitted.add(s.Key, "%v", err)
		}
	}
	holder := func(uri string) string {
		if offer, ok := s.set.merger.offer(uri); ok && offer.since < c.claims[uri] {
			return offer.key
		}
		return s.Key
	}
	for _, t := range c.found.admitted.Tools {
		if entry, ok := s.toolEntry(t, holder, imitates, omitted); ok {
			note(c.set.AddTool(entry.Definition, s.Handlers.Tool(entry, on), s.toolOptions()...))
		}
	}
	for _, prompt := range c.found.admitted.Prompts {
		entry := s.promptEntry(prompt, imitates, omitted)
		note(c.set.AddPrompt(entry.Definition, s.Handlers.Prompt(prompt.Name, on), s.Handlers.PromptOptions(prompt.Name, on)...))
	}
	for _, r := range c.found.resources {
		p.markResource(omitted, &r, imitates)
		r.URI = p.clientURI(r.URI, holder(r.URI), "resource", omitted)
		note(c.set.AddResource(r, s.set.readResource, s.resourceOptions()...))
	}
	for _, t := range c.found.admitted.Templates {
		p.markTemplate(omitted, &t, imitates)
		uriTemplate := t.URITemplate
		t.URITemplate = p.clientTemplate(uriTemplate, s.Key, omitted)
		note(c.set.AddTemplate(t, s.set.readResource, s.Handlers.TemplateOptions(uriTemplate, on)...))
	}
	for _, text := range omitted[s.Key].all() {
		s.Log.Warn("a feature for some callers is left out, or changed", "reason", text)
	}
}

// callerFeatureSize is the size of the features for some callers.
type callerFeatureSize struct{ number, bytes, left int }

// missing returns the listed features whose key is not the key of a known one. It leaves out
// duplicates, and features beyond the limits.
func missing[Def any](listed, known []Def, key func(*Def) string, size *callerFeatureSize) (found []Def) {
	seen := make(map[string]bool, len(known))
	for i := range known {
		seen[key(&known[i])] = true
	}
	for i := range listed {
		def := &listed[i]
		if seen[key(def)] {
			continue
		}
		seen[key(def)] = true
		bytes, _, err := measure(def)
		if err != nil || size.number == maxCallerFeatures || size.bytes+bytes > maxCallerFeatureBytes {
			size.left++
			continue
		}
		size.number++
		size.bytes += bytes
		found = append(found, *def)
	}
	return found
}

// catalog returns the features that were found. Nil has none.
func (c *callerFeatures) catalog() *Catalog {
	if c == nil {
		return new(Catalog)
	}
	return c.found
}

// changedLists says which lists of a caller have changed.
type changedLists struct{ tools, prompts, resources bool }

// changedTo returns the lists that differ between two sets of features.
func (c *callerFeatures) changedTo(now *callerFeatures) changedLists {
	a, b := c.catalog(), now.catalog()
	return changedLists{
		tools:     !equalDefs(a.admitted.Tools, b.admitted.Tools),
		prompts:   !equalDefs(a.admitted.Prompts, b.admitted.Prompts),
		resources: !equalDefs(a.resources, b.resources) || !equalDefs(a.admitted.Templates, b.admitted.Templates),
	}
}

// equalDefs reports whether two lists are equal, which is fast for a list and itself.
func equalDefs[Def any](a, b []Def) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || reflect.DeepEqual(a, b))
}

// notifySession notifies the session of a connection. In the stateless era s is nil and nothing is
// sent: lists of that era do not contain the features of a connection.
func (l changedLists) notifySession(s *mcpserver.Session) {
	if l.tools {
		s.ToolsChanged()
	}
	if l.prompts {
		s.PromptsChanged()
	}
	if l.resources {
		s.ResourcesChanged()
	}
}

// notifyClients notifies the clients with certain capabilities.
func (l changedLists) notifyClients(s *mcpserver.Server, c link.Capabilities) {
	match := func(r mcp.Revision, declared mcp.ClientCapabilities) bool {
		return link.CapabilitiesIn(r, declared).ForLists() == c
	}
	if l.tools {
		s.ToolsChangedFor(match)
	}
	if l.prompts {
		s.PromptsChangedFor(match)
	}
	if l.resources {
		s.ResourcesChangedFor(match)
	}
}

// callerFeatures returns the features of the capabilities of a caller, or nil, and those of its
// own connections.
func (s *Source) callerFeatures(c link.Caller) (capable *callerFeatures, own []*callerFeatures) {
	if s.Settings.Share {
		return nil, nil
	}
	if s.isWithdrawn() {
		return nil, nil
	}
	capable = s.capabilityLists.of(c.Capabilities)
	for conn := range s.Pool.Of(c) {
		if features := s.own.of(conn); features != nil {
			own = append(own, features)
		}
	}
	return capable, own
}

// callerCatalogs returns the features of the upstream that a caller can use and that others may not
// see.
func (s *Source) callerCatalogs(c link.Caller) []*Catalog {
	capable, own := s.callerFeatures(c)
	all := []*Catalog{capable.catalog()}
	for _, features := range own {
		all = append(all, features.found)
	}
	return all
}

// knownFeatures returns the features that an upstream lists for a caller before its first call.
func (s *Source) knownFeatures(c link.Capabilities) *Catalog {
	known, capable := s.Catalog(), s.capabilityLists.of(c).catalog()
	return &Catalog{
		tools:     slices.Concat(known.tools, capable.tools),
		prompts:   slices.Concat(known.prompts, capable.prompts),
		resources: slices.Concat(known.resources, capable.resources),
		templates: slices.Concat(known.templates, capable.templates),
	}
}
