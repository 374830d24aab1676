package catalog

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// A claim says which upstream has a URI. The earliest claim on a URI is the valid one.
type claim struct {
	key   string
	since uint64
}

// claimOrder numbers claims. Claims that are found while the upstreams start have the number zero:
// among them the order of the upstreams decides, and not which upstream starts fastest.
type claimOrder struct{ last atomic.Uint64 }

func (o *claimOrder) next() uint64 { return o.last.Add(1) }

// offers are the claims of upstreams on the resources in their lists, and on the documents to which
// their tools link. A claim is valid for as long as the upstream lists the resource or the tool. When
// the upstream is restarted, suspended or replaced by another one with its key, the claim stays valid
// until its next list.
type offers struct {
	byURI   map[string]claim // by the normal form
	settled bool             // the upstreams have started once
}

// update brings the claims up to date with the lists of the upstreams, in their order.
func (o *offers) update(sources []*Source, order *claimOrder) {
	if o.byURI == nil {
		o.byURI = make(map[string]claim)
	}
	if !o.settled {
		o.settled = !slices.ContainsFunc(sources, func(s *Source) bool { return s.IsStarting() })
	}
	if !o.settled {
		clear(o.byURI)
	}
	o.removeUnlisted(sources)
	for _, s := range sources {
		for uri := range s.Catalog().claimable() { // also while the upstream is withdrawn
			if _, taken := o.byURI[uri]; taken {
				continue
			}
			c := claim{key: s.Key}
			if o.settled {
				c.since = order.next()
			}
			o.byURI[uri] = c
		}
	}
}

// removeUnlisted removes the claims on resources that their upstream does not list any more. A
// list that could not be read removes none.
func (o *offers) removeUnlisted(sources []*Source) {
	lists := make(map[string]map[string]bool, len(sources)) // by key; nil for one that was not read
	for _, s := range sources {
		lists[s.Key] = nil
		if cat := s.Catalog(); cat.resourcesRead && !slices.Contains(cat.unread, host.KindTool) {
			listed := make(map[string]bool, len(cat.resources))
			for uri := range cat.claimable() {
				listed[uri] = true
			}
			lists[s.Key] = listed
		}
	}
	for uri, c := range o.byURI {
		if listed, exists := lists[c.key]; !exists || listed != nil && !listed[uri] {
			delete(o.byURI, uri)
		}
	}
}

// holder returns the key of the upstream that has a resource, or "".
func (o *offers) holder(uri string) string { return o.byURI[mcpserver.NormalizeURI(uri)].key }

// claimable returns the normal forms of the URIs of the catalog on which its upstream has a claim: those of resources,
// and of the documents of tools, which need not be listed. Equal URIs have one owner. Qualified URIs belong to nobody.
func (c *Catalog) claimable() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range c.resources {
			if uri := c.resources[i].URI; !host.IsQualified(uri) && !yield(mcpserver.NormalizeURI(uri)) {
				return
			}
		}
		for i := range c.tools {
			for _, uri := range documentLinks(&c.tools[i]) {
				if !host.IsQualified(uri) && !yield(mcpserver.NormalizeURI(uri)) {
					return
				}
			}
		}
	}
}

// sharedSchemes are the schemes of URIs whose authority says who has the resource. Other
// schemes are taken to belong to the server that uses them, such as notes://{title}.
var sharedSchemes = []string{"file", "ftp", "ftps", "git", "http", "https", "sftp", "ssh", "ws", "wss"}

// checkCompeting returns an error for a URI template without a literal scheme, or with a shared scheme
// and without a literal authority that is not empty: it would answer for resources of all servers.
// Such a template answers for qualified URIs of its server alone.
func checkCompeting(uriTemplate string) error {
	literal, _, _ := strings.Cut(uriTemplate, "{")
	scheme, rest, found := strings.Cut(literal, ":")
	switch {
	case !found || scheme == "":
		return errors.New("the scheme of its URIs is not literal")
	case !slices.Contains(sharedSchemes, strings.ToLower(scheme)):
		return nil
	}
	authority, ok := strings.CutPrefix(rest, "//")
	switch end := strings.Index(authority, "/"); {
	case !ok || end < 0:
		return fmt.Errorf("the authority of its %s URIs is not literal", scheme)
	case end == 0:
		return fmt.Errorf("its %s URIs have no authority", scheme)
	}
	return nil
}
