package catalog

import (
	"slices"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// View is what one caller sees of one upstream.
type View struct {
	source *Source
	caller link.Caller
}

// View returns what a caller sees of the upstream now.
func (s *Source) View(c link.Caller) View { return View{s, c} }

// features returns the features of the capabilities of a caller, or nil, and those of its
// own connections.
func (v View) features() (capable *callerFeatures, own []*callerFeatures) {
	if v.source.Settings.Share {
		return nil, nil
	}
	if v.source.isWithdrawn() {
		return nil, nil
	}
	capable = v.source.capabilityLists.of(v.caller.Capabilities)
	for conn := range v.source.Pool.Of(v.caller) {
		if features := v.source.own.of(conn); features != nil {
			own = append(own, features)
		}
	}
	return capable, own
}

// catalogs returns the features of the upstream that a caller can use and that others may not
// see.
func (v View) catalogs() []*Catalog {
	capable, own := v.features()
	all := []*Catalog{capable.catalog()}
	for _, features := range own {
		all = append(all, features.found)
	}
	return all
}

// StillOffers reports whether the caller can call a tool now, as it is defined in entry.
func (v View) StillOffers(entry Entry[mcp.Tool]) bool {
	asked, err := entry.Listed.Fingerprint()
	same := func(t mcp.Tool) bool {
		if t.Name != entry.UpstreamName {
			return false
		}
		now, nowErr := t.Fingerprint()
		return err == nil && nowErr == nil && now == asked
	}
	for _, cat := range append(v.catalogs(), v.source.Visible()) {
		if slices.ContainsFunc(cat.admitted.Tools, same) {
			return true
		}
	}
	return false
}

// Offers reports whether the caller can use the tool, or for prompts/get the prompt, of that wire name.
func (v View) Offers(method, wire string) bool {
	return slices.ContainsFunc(append(v.catalogs(), v.source.Visible()), func(c *Catalog) bool {
		if method == mcp.MethodPromptsGet {
			return slices.ContainsFunc(c.admitted.Prompts, func(p mcp.Prompt) bool { return host.WireName(v.source.Key, p.Name) == wire })
		}
		return slices.ContainsFunc(c.admitted.Tools, func(t mcp.Tool) bool { return host.WireName(v.source.Key, t.Name) == wire })
	})
}

// OffersTemplate reports whether the caller can use the resource template, or the resource, of that URI.
func (v View) OffersTemplate(uri string) bool {
	return slices.ContainsFunc(append(v.catalogs(), v.source.Visible()), func(c *Catalog) bool {
		return c.hasResource(uri) || slices.ContainsFunc(c.admitted.Templates, func(t mcp.ResourceTemplate) bool { return t.URITemplate == uri })
	})
}

// HiddenTool returns the upstream's name of the tool with the given wire name that is denied
// or withheld from a caller, and the outcome of its calls. The name is empty if there is no
// such tool.
func (v View) HiddenTool(wire string) (name string, outcome host.Outcome) {
	for _, cat := range append([]*Catalog{v.source.Catalog()}, v.catalogs()...) {
		if name, outcome = v.hiddenToolIn(cat, wire); name != "" {
			return name, outcome
		}
	}
	return "", ""
}

// hiddenToolIn is HiddenTool for the tools of one catalog.
func (v View) hiddenToolIn(cat *Catalog, wire string) (name string, outcome host.Outcome) {
	for i := range cat.tools {
		t := &cat.tools[i]
		switch {
		case host.WireName(v.source.Key, t.Name) != wire:
		case v.source.Settings.Rules.Verdict(t) == host.Deny:
			return t.Name, host.OutcomeDenied
		case !slices.ContainsFunc(cat.admitted.Tools, func(a mcp.Tool) bool { return a.Name == t.Name }):
			return t.Name, host.OutcomeWithheld
		}
	}
	return "", ""
}

// claim returns the upstream's claim on a resource that only some callers see, if the
// caller is one of them: the number of the claim, and the connection over which the resource is read. Zero means that
// there is no claim.
func (v View) claim(uri string) (since uint64, on *link.Conn) {
	capable, own := v.features()
	uri = mcpserver.NormalizeURI(uri)
	if capable != nil && capable.claims[uri] > 0 {
		return capable.claims[uri], nil
	}
	for _, features := range own {
		if features.claims[uri] > 0 {
			return features.claims[uri], features.on
		}
	}
	return 0, nil
}

// resource reports whether the upstream has a resource for the caller: in its lists, in a result,
// or by a template, also one that cannot be parsed. If on is not nil, the resource is read over that connection.
func (v View) resource(search *templateSearch, uri string) (on *link.Conn, ok bool) {
	if v.source.Visible().hasResource(uri) || v.source.set.namedResources.has(v.caller, v.source.Key, uri) {
		return nil, true
	}
	if since, on := v.claim(uri); since > 0 {
		return on, true
	}
	if on, ok := v.matchesTemplate(search, uri, (*Catalog).parsedTemplates); ok {
		return on, true
	}
	return v.find(func(c *Catalog) bool { return c.mayExpandTo(uri) })
}

// matchesTemplate reports whether one of some templates that the caller can use matches a URI.
func (v View) matchesTemplate(search *templateSearch, uri string, of func(*Catalog) []*mcpserver.URITemplate) (on *link.Conn, ok bool) {
	return v.find(func(c *Catalog) bool { return search.finds(of(c), uri) })
}

// find reports whether something is in one of the catalogs that the caller can use, and over which connection.
func (v View) find(has func(*Catalog) bool) (on *link.Conn, ok bool) {
	if has(v.source.Visible()) {
		return nil, true
	}
	capable, own := v.features()
	if has(capable.catalog()) {
		return nil, true
	}
	for _, features := range own {
		if has(features.found) {
			return features.on, true
		}
	}
	return nil, false
}
