package gateway

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/host"
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
	byURI   map[string]claim
	settled bool // the upstreams have started once
}

// update brings the claims up to date with the lists of the upstreams, in their order.
func (o *offers) update(upstreams []*upstream, order *claimOrder) {
	if o.byURI == nil {
		o.byURI = make(map[string]claim)
	}
	if !o.settled {
		o.settled = !slices.ContainsFunc(upstreams, (*upstream).isFirstStart)
	}
	if !o.settled {
		clear(o.byURI)
	}
	o.removeUnlisted(upstreams)
	for _, u := range upstreams {
		for uri := range u.lastCatalog().claimable() { // also while the upstream is withdrawn
			if _, taken := o.byURI[uri]; taken {
				continue
			}
			c := claim{key: u.Key}
			if o.settled {
				c.since = order.next()
			}
			o.byURI[uri] = c
		}
	}
}

// removeUnlisted removes the claims on resources that their upstream does not list any more. A
// list that could not be read removes none.
func (o *offers) removeUnlisted(upstreams []*upstream) {
	lists := make(map[string]map[string]bool, len(upstreams)) // by key; nil for one that was not read
	for _, u := range upstreams {
		lists[u.Key] = nil
		if cat := u.lastCatalog(); cat.resourcesRead && !slices.Contains(cat.unread, host.KindTool) {
			listed := make(map[string]bool, len(cat.resources))
			for uri := range cat.claimable() {
				listed[uri] = true
			}
			lists[u.Key] = listed
		}
	}
	for uri, c := range o.byURI {
		if listed, exists := lists[c.key]; !exists || listed != nil && !listed[uri] {
			delete(o.byURI, uri)
		}
	}
}

// holder returns the key of the upstream that has a resource, or "".
func (o *offers) holder(uri string) string { return o.byURI[uri].key }

// claimable returns the URIs of the catalog on which its upstream has a claim: those of resources,
// and of the documents of tools, which need not be listed. Qualified URIs belong to nobody.
func (c *catalog) claimable() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range c.resources {
			if uri := c.resources[i].URI; !host.IsQualified(uri) && !yield(uri) {
				return
			}
		}
		for i := range c.tools {
			for _, uri := range documentLinks(&c.tools[i]) {
				if !host.IsQualified(uri) && !yield(uri) {
					return
				}
			}
		}
	}
}

// isFirstStart reports whether the upstream still starts for the first time, together with the
// gateway.
func (u *upstream) isFirstStart() bool {
	u.mu.Lock()
	late := !time.Now().Before(u.startDeadline)
	u.mu.Unlock()
	return !u.Settings.Lazy && !late && !u.startFinished()
}

// clientURI returns the URI or URI template that clients see for that of an upstream. If it is a
// qualified one, clientURI adds the reason to omitted. holder is the key of the upstream that has the
// plain one.
func (u *upstream) clientURI(uri, holder, kind string, omitted omissions) string {
	if holder == u.Key && !host.IsQualified(uri) {
		return uri
	}
	qualified := host.QualifiedURI(u.Key, uri)
	if !host.IsQualified(uri) {
		omitted.add(u, "%s %q: upstream %q has it already; clients see this one as %q", kind, uri, holder, qualified)
	}
	return qualified
}

// sharedSchemes are the schemes of URIs whose authority says who has the resource. Other
// schemes are taken to belong to the server that uses them, such as notes://{title}.
var sharedSchemes = []string{"file", "ftp", "ftps", "git", "http", "https", "sftp", "ssh", "ws", "wss"}

// clientTemplate returns the URI template that clients see for that of an upstream. It is a qualified
// one if the plain one may not answer for URIs, or another upstream, the holder, has it.
func (u *upstream) clientTemplate(uriTemplate, holder string, omitted omissions) string {
	if err := checkCompeting(uriTemplate); err != nil {
		qualified := host.QualifiedURI(u.Key, uriTemplate)
		omitted.add(u, "template %q: %v; clients see it as %q", uriTemplate, err, qualified)
		return qualified
	}
	return u.clientURI(uriTemplate, holder, "template", omitted)
}

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
