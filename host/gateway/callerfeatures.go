package gateway

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
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
	found *catalog // as the upstream defines them, without those of everybody
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
func (u *upstream) newCallerFeatures(ctx context.Context, listed, known *catalog, before *callerFeatures, l host.Listing, on *link.Conn) (*callerFeatures, error) {
	var size callerFeatureSize
	c := &callerFeatures{
		set:     u.gateway.server.NewFeatureSet(),
		on:      on,
		listing: l,
		found: &catalog{
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
		u.log.Warn("features for some callers are left out", "number", size.left, "limit", maxCallerFeatures, "limit bytes", maxCallerFeatureBytes)
	}
	if err := u.filter(ctx, c.found, l); err != nil {
		return nil, err
	}
	u.recordFiltered(before.catalog().admitted, c.found.admitted)
	c.claimResources(before, &u.gateway.claimOrder)
	u.fillSet(c, on)
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
func (u *upstream) fillSet(c *callerFeatures, on *link.Conn) {
	omitted, imitates := make(omissions), u.imitations.searchFor(u.otherKeys(u.gateway.list()))
	note := func(err error) {
		if err != nil {
			omitted.add(u, "%v", err)
		}
	}
	holder := func(uri string) string {
		if offer, ok := u.gateway.merger.offer(uri); ok && offer.since < c.claims[uri] {
			return offer.key
		}
		return u.Key
	}
	for _, t := range c.found.admitted.Tools {
		if entry, ok := u.toolEntry(t, holder, imitates, omitted); ok {
			note(c.set.AddTool(entry.definition, u.callTool(entry, on), u.toolOptions()...))
		}
	}
	for _, p := range c.found.admitted.Prompts {
		entry := u.promptEntry(p, imitates, omitted)
		note(c.set.AddPrompt(entry.definition, u.getPrompt(p.Name, on), u.promptOptions(p.Name, on)...))
	}
	for _, r := range c.found.resources {
		u.markResource(omitted, &r, imitates)
		r.URI = u.clientURI(r.URI, holder(r.URI), "resource", omitted)
		note(c.set.AddResource(r, u.gateway.readResource, u.resourceOptions()...))
	}
	for _, t := range c.found.admitted.Templates {
		u.markTemplate(omitted, &t, imitates)
		uriTemplate := t.URITemplate
		t.URITemplate = u.clientTemplate(uriTemplate, u.Key, omitted)
		note(c.set.AddTemplate(t, u.gateway.readResource, u.templateOptions(uriTemplate, on)...))
	}
	for _, text := range omitted[u].all() {
		u.log.Warn("a feature for some callers is left out, or changed", "reason", text)
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
func (c *callerFeatures) catalog() *catalog {
	if c == nil {
		return new(catalog)
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

// requestFeatures is mcpserver.Options.RequestFeatures. Features of the caller's own connection
// are listed only in a session: a list of the stateless era must not depend on other requests.
//
// Spec: 2026-07-28 server/tools#listing-tools
func (g *Gateway) requestFeatures(r *mcpserver.Request) (listed, unlisted []*mcpserver.FeatureSet) {
	if set, ok := g.unlisted.Load(r); ok {
		unlisted = append(unlisted, set.(*mcpserver.FeatureSet))
	}
	for _, u := range g.list() {
		capable, own := u.callerFeatures(link.CallerOf(r))
		if capable != nil {
			listed = append(listed, capable.set)
		}
		for _, features := range own {
			if r.Session() != nil {
				listed = append(listed, features.set)
			} else {
				unlisted = append(unlisted, features.set)
			}
		}
	}
	return listed, unlisted
}

// callerFeatures returns the features of the capabilities of a caller, or nil, and those of its
// own connections.
func (u *upstream) callerFeatures(c link.Caller) (capable *callerFeatures, own []*callerFeatures) {
	if u.Settings.Share {
		return nil, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.withdrawn {
		return nil, nil
	}
	if l := u.capabilityLists[c.Capabilities.ForLists()]; l != nil {
		capable = l.features
	}
	for conn := range u.pool.Of(c) {
		if features := u.own.of(conn); features != nil {
			own = append(own, features)
		}
	}
	return capable, own
}

// callerCatalogs returns the features of the upstream that a caller can use and that others may not
// see.
func (u *upstream) callerCatalogs(c link.Caller) []*catalog {
	capable, own := u.callerFeatures(c)
	all := []*catalog{capable.catalog()}
	for _, features := range own {
		all = append(all, features.found)
	}
	return all
}

// readOwnFeatures lists the features of a caller's connection. If a list cannot be read, the
// connection keeps those that it has. A read that waits too long for others is repeated later. It
// returns when the read began, or zero if it did not.
func (u *upstream) readOwnFeatures(ctx context.Context, client *mcpclient.Client, c link.Caller, conn *link.Conn) (began time.Time) {
	err := u.listReads.run(ctx, conn.Owner, time.After(listTimeout), func(ctx context.Context) error {
		began = time.Now()
		before := u.own.of(conn)
		listed, err := readCatalog(ctx, client, before.catalog())
		if err != nil {
			return err
		}
		for _, reason := range slices.Concat(listed.omitted, listed.leftOut) {
			u.log.Warn("cannot list features of a caller's connection", "reason", reason)
		}
		now, err := u.newCallerFeatures(ctx, listed, u.knownFeatures(c.Capabilities), before, host.Listing{Session: true, Initial: u.initialListsOf(c.Capabilities)}, conn)
		if err != nil {
			return fmt.Errorf("comparing the definitions with the approved ones: %w", err)
		}
		if !u.own.set(conn, now, func() { u.dropOwnFeatures(conn) }) {
			u.dropOwnFeatures(conn)
		}
		return nil
	})
	switch {
	case errors.Is(err, errManyReads):
		conn.RequestRefresh()
	case err != nil:
		u.log.Warn("cannot list the features of a caller's connection", "error", link.RecordedText(err))
	}
	return began
}

// dropOwnFeatures drops the features of a connection, because there is no room for them.
func (u *upstream) dropOwnFeatures(conn *link.Conn) {
	u.log.Warn("features for one caller are left out, because those of all callers are too large", "limit bytes", maxCatalog)
	u.own.drop(conn)
}

// refreshOwnFeatures requests a new read of the lists of caller connections that have features of
// their own. It is called after the shared lists have changed: a feature that is in the shared lists
// now is no longer one of a single caller. For a program it does nothing, because each connection has
// a process with lists of its own.
func (u *upstream) refreshOwnFeatures() {
	if u.connector.isProgram() {
		return
	}
	for conn, own := range u.own.all() {
		if own.set.Len() > 0 {
			conn.RequestRefresh()
		}
	}
}

// knownFeatures returns the features that an upstream lists for a caller before its first call.
func (u *upstream) knownFeatures(c link.Capabilities) *catalog {
	u.mu.Lock()
	defer u.mu.Unlock()
	known, capable := u.catalog, new(catalog)
	if l := u.capabilityLists[c.ForLists()]; l != nil {
		capable = l.features.catalog()
	}
	return &catalog{
		tools:     slices.Concat(known.tools, capable.tools),
		prompts:   slices.Concat(known.prompts, capable.prompts),
		resources: slices.Concat(known.resources, capable.resources),
		templates: slices.Concat(known.templates, capable.templates),
	}
}

// hiddenCallerTool is hiddenTool for the tools of one caller.
func (u *upstream) hiddenCallerTool(c link.Caller, wire string) (name string, outcome host.Outcome) {
	for _, cat := range u.callerCatalogs(c) {
		if name, outcome = u.hiddenToolIn(cat, wire); name != "" {
			return name, outcome
		}
	}
	return "", ""
}
