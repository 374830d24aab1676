package gateway

import (
	"context"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// maxResultSearch limits the search for templates that match the URIs in one result, see matchWork.
// It is enough to compare 256 URIs of 60 bytes with 160 templates of 50.
const maxResultSearch = 256 << 20

// resultURIs claims the resources that one result of an upstream names for the caller that gets it,
// and finds the URIs under which the caller reaches them. It compares only the first maxNamedResources
// different URIs, of maxNamedURIBytes, with templates, because no more are remembered.
type resultURIs struct {
	upstream *upstream
	request  *mcpserver.Request
	search   templateSearch
	reached  map[string]string // by the URI in the result; nil before the first one
	bytes    int               // of the URIs in reached
}

// resultURIs returns the URIs for the result of the request of ctx. The search ends with ctx.
func (u *upstream) resultURIs(ctx context.Context) *resultURIs {
	return &resultURIs{
		upstream: u,
		request:  mcpserver.From(ctx),
		search:   templateSearch{ctx, maxResultSearch},
	}
}

// claimLinks notes which resources contents of the result contain or link to, and replaces their URIs
// as claim says.
func (n *resultURIs) claimLinks(contents mcp.Contents) {
	for i, content := range contents {
		switch content := content.(type) {
		case mcp.ResourceLink:
			content.URI = n.claim(content.URI)
			contents[i] = content
		case mcp.EmbeddedResource:
			content.Resource.URI = n.claim(content.Resource.URI)
			contents[i] = content
		}
	}
}

// claim claims a URI that the result names, and returns the URI under which the caller reaches the
// upstream's resource: the plain one, or the qualified one if the plain one leads to another upstream,
// or would without the claim, or may do so because nobody has looked. The claim ends with the session,
// but the URI may be read later.
func (n *resultURIs) claim(uri string) string {
	if reached, known := n.reached[uri]; known {
		return reached
	}
	c, u, g := link.CallerOf(n.request), n.upstream, n.upstream.gateway
	plain := !host.IsQualified(uri)
	first, claimed := g.firstClaim(c, uri)
	if !plain || !claimed || first.key != u.Key {
		g.namedResources.add(c, n.request.Owner(), uri, claim{u.Key, g.claimOrder.next()})
	}
	search, room := &n.search, len(n.reached) < maxNamedResources && n.bytes+len(uri) <= maxNamedURIBytes
	if !room {
		search = &templateSearch{ctx: n.search.ctx} // which has ended
	}
	reached := host.QualifiedURI(u.Key, uri)
	if plain && (!claimed || first.key == u.Key) && g.wouldLeadTo(search, u, c, uri) {
		reached = uri
	}
	if room {
		if n.reached == nil {
			n.reached = make(map[string]string)
		}
		n.reached[uri] = reached
		n.bytes += len(uri)
	}
	return reached
}

// wouldLeadTo reports whether a plain URI would lead a caller to no other upstream without the claims
// that results have made. It reports false if the search has ended.
func (g *Gateway) wouldLeadTo(search *templateSearch, u *upstream, c link.Caller, uri string) bool {
	if listed, ok := g.firstListed(c, uri); ok {
		return listed.key == u.Key
	}
	matching, ok := g.firstMatch(search, c, uri)
	return ok && matching.upstream == u || !ok && !search.ended()
}
