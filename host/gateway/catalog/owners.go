package catalog

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Owner is where the resource of a URI is read: the upstream that has it, its URI
// there, and the connection to use; nil stands for any connection of the caller.
type Owner struct {
	Source *Source
	URI    string
	On     *link.Conn
}

// Owner returns the owner of a URI for a caller. A qualified URI names its owner. The owner of
// another URI is the upstream that has listed the resource, or named it to the caller in a result,
// before all others. If there is none, it is the first upstream with a template that matches. The
// search ends with ctx.
func (set *Set) Owner(ctx context.Context, c link.Caller, uri string) (owner Owner, ok bool) {
	search := &templateSearch{ctx, math.MaxInt}
	if host.IsQualified(uri) {
		key, plain, _ := host.ParseQualifiedURI(uri)
		s := set.byKey(key)
		if s == nil || s.isWithdrawn() {
			return owner, false
		}
		on, ok := s.View(c).resource(search, plain)
		return Owner{s, s.View(c).listedAs(plain), on}, ok
	}
	if first, ok := set.firstClaim(c, uri); ok {
		s := set.byKey(first.key)
		if s == nil || s.isWithdrawn() {
			return owner, false
		}
		_, on := s.View(c).claim(uri)
		return Owner{s, s.View(c).listedAs(uri), on}, true
	}
	return set.firstMatch(search, c, uri)
}

// firstMatch returns the first upstream with a template that matches a plain URI and may answer for it.
func (set *Set) firstMatch(search *templateSearch, c link.Caller, uri string) (owner Owner, ok bool) {
	for _, s := range set.list() {
		if on, ok := s.View(c).matchesTemplate(search, uri, (*Catalog).competingTemplates); ok {
			return Owner{s, uri, on}, true
		}
	}
	return owner, false
}

// firstClaim returns the earliest claim on a plain URI that concerns a caller.
func (set *Set) firstClaim(c link.Caller, uri string) (first claim, ok bool) {
	first, ok = set.firstListed(c, uri)
	if named, found := set.namedResources.first(c, uri); found && (!ok || named.since < first.since) && set.byKey(named.key) != nil {
		return named, true
	}
	return first, ok
}

// firstListed returns the earliest claim on a plain URI by the lists that a caller sees.
func (set *Set) firstListed(c link.Caller, uri string) (first claim, ok bool) {
	first, ok = set.merger.offer(uri)
	for _, s := range set.list() {
		if since, _ := s.View(c).claim(uri); since > 0 && (!ok || since < first.since) {
			first, ok = claim{s.Key, since}, true
		}
	}
	return first, ok
}

// IsClaimed reports whether an upstream has listed a resource to a caller, or has named it in a result. A
// template does not count, except for a qualified URI, which belongs to one upstream.
func (set *Set) IsClaimed(c link.Caller, uri string) bool {
	if host.IsQualified(uri) {
		_, ok := set.Owner(context.Background(), c, uri)
		return ok
	}
	first, ok := set.firstClaim(c, uri)
	return ok && set.byKey(first.key) != nil
}

func (c *Catalog) hasResource(uri string) bool {
	_, ok := c.listedAs(uri)
	return ok
}

// listedAs returns the URI under which a resource is listed: the one that is given, else the first that is equal.
func (c *Catalog) listedAs(uri string) (listed string, ok bool) {
	if slices.ContainsFunc(c.resources, func(r mcp.Resource) bool { return r.URI == uri }) {
		return uri, true
	}
	normal := mcpserver.NormalizeURI(uri)
	i := slices.IndexFunc(c.resources, func(r mcp.Resource) bool { return mcpserver.NormalizeURI(r.URI) == normal })
	if i < 0 {
		return "", false
	}
	return c.resources[i].URI, true
}

// listedAs returns the URI under which the upstream has listed a resource to the caller: the one that is given, unless
// it lists an equal one alone.
func (v View) listedAs(uri string) string {
	capable, own := v.features()
	catalogs := []*Catalog{v.source.Visible(), capable.catalog()}
	for _, features := range own {
		catalogs = append(catalogs, features.found)
	}
	equal := uri
	for _, c := range slices.Backward(catalogs) {
		if listed, ok := c.listedAs(uri); ok && listed == uri {
			return uri
		} else if ok {
			equal = listed
		}
	}
	return equal
}

const (
	// maxNamedResources limits the resources of one upstream that are remembered for one caller,
	// and maxNamedURIBytes their URIs. The oldest is dropped.
	maxNamedResources = 256
	maxNamedURIBytes  = 64 << 10
	// maxNamedUnits limits what is remembered for all callers, in units: one for each caller, and
	// one for each 256 bytes of URIs. The caller that has been idle longest, of the owner that
	// has most, is forgotten.
	maxNamedUnits = 32 << 10
)

// namedResources are the claims of upstreams on resources that they have named in results to a
// caller. Such a resource need not be listed: a server may create it for one session.
//
// Spec: 2026-07-28 server/tools#resource-links
type namedResources struct {
	pool *mcpserver.OwnerPool

	mu       sync.Mutex
	byCaller map[link.Caller]*namedToCaller // guarded by mu
}

func newNamedResources() namedResources {
	return namedResources{
		pool:     mcpserver.NewOwnerPool(mcpserver.OwnerPoolOptions{Total: maxNamedUnits}),
		byCaller: make(map[link.Caller]*namedToCaller),
	}
}

// namedToCaller are the resources that were named to one caller.
type namedToCaller struct {
	place      *mcpserver.OwnerPlace
	byUpstream map[string]*namedByOne // by key
	bytes      int                    // of all URIs
	removed    bool
}

// namedByOne are the resources that one upstream has named to one caller.
type namedByOne struct {
	since map[string]uint64 // by the normal form of the URI
	order []string          // oldest first
	bytes int               // of the URIs
}

// add adds a claim, unless the upstream has it already.
func (n *namedResources) add(c link.Caller, owner mcpserver.Owner, uri string, added claim) {
	if uri = mcpserver.NormalizeURI(uri); len(uri) > maxNamedURIBytes {
		return
	}
	all := n.of(c, owner)
	if all == nil {
		return
	}
	n.mu.Lock()
	named := all.byUpstream[added.key]
	if named == nil {
		named = &namedByOne{since: make(map[string]uint64)}
		all.byUpstream[added.key] = named
	}
	all.bytes += named.add(uri, added.since)
	units := 1 + all.bytes/256
	n.mu.Unlock()
	all.place.SetIdle(true)
	if all.place.Resize(units) != nil {
		n.removeCaller(c, all)
	}
}

// add adds a URI, and returns by how many bytes the URIs have grown.
func (n *namedByOne) add(uri string, since uint64) (grown int) {
	if _, known := n.since[uri]; known {
		return 0
	}
	before := n.bytes
	n.since[uri] = since
	n.order = append(n.order, uri)
	n.bytes += len(uri)
	for len(n.order) > maxNamedResources || n.bytes > maxNamedURIBytes {
		delete(n.since, n.order[0])
		n.bytes -= len(n.order[0])
		n.order = slices.Delete(n.order, 0, 1)
	}
	return n.bytes - before
}

// of returns the resources of a caller, or nil if there is no room. They are dropped when the session
// of the caller ends.
func (n *namedResources) of(c link.Caller, owner mcpserver.Owner) *namedToCaller {
	n.mu.Lock()
	all := n.byCaller[c]
	n.mu.Unlock()
	if all != nil {
		return all
	}
	all = &namedToCaller{byUpstream: make(map[string]*namedByOne)}
	place, err := n.pool.Take(owner, 1, func() { n.removeCaller(c, all) })
	if err != nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	other := n.byCaller[c]
	if other != nil || all.removed { // added, or evicted, at the same time
		place.Release()
		return other
	}
	all.place = place
	n.byCaller[c] = all
	if c.Session != nil {
		context.AfterFunc(c.Session.Context(), func() { n.removeCaller(c, all) })
	}
	return all
}

func (n *namedResources) removeCaller(c link.Caller, all *namedToCaller) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.byCaller[c] == all {
		delete(n.byCaller, c)
	}
	all.removed = true
	all.place.Release()
}

// first returns the earliest claim on a URI that was named to a caller.
func (n *namedResources) first(c link.Caller, uri string) (first claim, ok bool) {
	uri = mcpserver.NormalizeURI(uri)
	n.mu.Lock()
	defer n.mu.Unlock()
	for key, named := range n.namedTo(c) {
		if since, known := named.since[uri]; known && (!ok || since < first.since) {
			first, ok = claim{key, since}, true
		}
	}
	return first, ok
}

// has reports whether an upstream has named a resource to a caller.
func (n *namedResources) has(c link.Caller, key, uri string) bool {
	uri = mcpserver.NormalizeURI(uri)
	n.mu.Lock()
	defer n.mu.Unlock()
	named := n.namedTo(c)[key]
	return named != nil && named.since[uri] > 0
}

// namedTo returns what was named to a caller, by the key of the upstream. The caller of the method
// holds mu.
func (n *namedResources) namedTo(c link.Caller) map[string]*namedByOne {
	if all := n.byCaller[c]; all != nil {
		return all.byUpstream
	}
	return nil
}

// AddUnlisted lets a request use those resources of URIs that are in no list and that no template
// matches: those that a result has named, and those of qualified URIs. It returns a function that has
// to be called after the request, or nil if there are none.
func (set *Set) AddUnlisted(ctx context.Context, r *mcpserver.Request, uris []string) (remove func()) {
	found := set.unlistedResources(ctx, r, uris)
	if found.Len() == 0 {
		return nil
	}
	set.unlisted.Store(r, found)
	return func() { set.unlisted.Delete(r) }
}

// unlistedResources returns the resources of a request that are not registered, or nil.
func (set *Set) unlistedResources(ctx context.Context, r *mcpserver.Request, uris []string) (found *mcpserver.FeatureSet) {
	for _, uri := range uris {
		if set.merger.isRegistered(uri) {
			continue
		}
		if _, ok := set.Owner(ctx, link.CallerOf(r), uri); !ok {
			continue
		}
		if found == nil {
			found = set.server.NewFeatureSet()
		}
		_ = found.AddResource(mcp.Resource{URI: uri, Name: uri}, set.readResource) // otherwise it is no URI, and unknown
	}
	return found
}

// HasResource reports whether the sender of a request can use the resource of a URI.
func (set *Set) HasResource(ctx context.Context, r *mcpserver.Request, uri string) bool {
	_, ok := set.Owner(ctx, link.CallerOf(r), uri)
	return ok
}
