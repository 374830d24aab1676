package catalog

import (
	"context"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// maxResultSearch limits the search for templates that match the URIs in one result, see matchWork.
// It is enough to compare 256 URIs of 60 bytes with 160 templates of 50.
const maxResultSearch = 256 << 20

// ResultURIs claims the resources that one result of an upstream names for the caller that gets it,
// and finds the URIs under which the caller reaches them. It compares only the first maxNamedResources
// different URIs, of maxNamedURIBytes, with templates, because no more are remembered.
type ResultURIs struct {
	source  *Source
	request *mcpserver.Request
	search  templateSearch
	reached map[string]string // by the URI in the result; nil before the first one
	bytes   int               // of the URIs in reached
}

// ResultURIs returns the URIs for the result of the request of ctx. The search ends with ctx.
func (s *Source) ResultURIs(ctx context.Context) *ResultURIs {
	return &ResultURIs{
		source:  s,
		request: mcpserver.From(ctx),
		search:  templateSearch{ctx, maxResultSearch},
	}
}

// ClaimLinks notes which resources contents of the result contain or link to, and replaces their URIs
// as Claim says.
func (n *ResultURIs) ClaimLinks(contents mcp.Contents) {
	for i, content := range contents {
		switch content := content.(type) {
		case mcp.ResourceLink:
			content.URI = n.Claim(content.URI)
			contents[i] = content
		case mcp.EmbeddedResource:
			content.Resource.URI = n.Claim(content.Resource.URI)
			contents[i] = content
		}
	}
}

// Claim claims a URI that the result names, and returns the URI under which the caller reaches the
// upstream's resource: the plain one, or the qualified one if the plain one leads to another upstream,
// or would without the claim, or may do so because nobody has looked, or if it has no scheme: clients that check
// URIs would refuse the whole result. The claim ends with the session,
// but the URI may be read later.
func (n *ResultURIs) Claim(uri string) string {
	if reached, known := n.reached[uri]; known {
		return reached
	}
	c, s, set := link.CallerOf(n.request), n.source, n.source.set
	plain := !host.IsQualified(uri)
	first, claimed := set.firstClaim(c, uri)
	if !plain || !claimed || first.key != s.Key {
		set.namedResources.add(c, n.request.Owner(), uri, claim{s.Key, set.claimOrder.next()})
	}
	search, room := &n.search, len(n.reached) < maxNamedResources && n.bytes+len(uri) <= maxNamedURIBytes
	if !room {
		search = &templateSearch{ctx: n.search.ctx} // which has ended
	}
	reached := host.QualifiedURI(s.Key, uri)
	if plain && hasScheme(uri) && (!claimed || first.key == s.Key) && set.wouldLeadTo(search, s, c, uri) {
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

// hasScheme reports whether a URI begins with a scheme.
func hasScheme(uri string) bool {
	scheme, _, found := strings.Cut(uri, ":")
	for i, c := range scheme {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", c)) {
			return false
		}
	}
	return found && scheme != ""
}

// wouldLeadTo reports whether a plain URI would lead a caller to no other upstream without the claims
// that results have made. It reports false if the search has ended.
func (set *Set) wouldLeadTo(search *templateSearch, s *Source, c link.Caller, uri string) bool {
	if listed, ok := set.firstListed(c, uri); ok {
		return listed.key == s.Key
	}
	matching, ok := set.firstMatch(search, c, uri)
	return ok && matching.Source == s || !ok && !search.ended()
}
