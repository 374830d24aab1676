package gateway

import (
	"context"
	"encoding/json/v2"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
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
}

// newCallerFeatures returns the features that are not among the known ones, with the tools under
// the rules and approvals of all tools. before are those that were read last, or nil. Requests
// for them use the given connection; nil stands for any connection of their caller.
func (u *upstream) newCallerFeatures(listed, known *catalog, before *callerFeatures, on *connection) (*callerFeatures, error) {
	var size callerFeatureSize
	c := &callerFeatures{
		set: u.gateway.server.NewFeatureSet(),
		found: &catalog{
			tools:     missing(listed.tools, known.tools, func(t *mcp.Tool) string { return t.Name }, &size),
			prompts:   missing(listed.prompts, known.prompts, func(p *mcp.Prompt) string { return p.Name }, &size),
			resources: missing(listed.resources, known.resources, func(r *mcp.Resource) string { return r.URI }, &size),
			templates: missing(listed.templates, known.templates, func(t *mcp.ResourceTemplate) string { return t.URITemplate }, &size),
		},
	}
	if size.left > 0 {
		u.log.Warn("features for some callers are left out", "number", size.left, "limit", maxCallerFeatures, "limit bytes", maxCallerFeatureBytes)
	}
	if len(c.found.tools) > 0 {
		if err := u.gateway.options.filterTools(&u.Upstream, c.found); err != nil {
			return nil, err
		}
		u.recordWithheld(before.catalog().withheld, c.found.withheld)
	}
	u.fillSet(c, on)
	return c, nil
}

// fillSet adds the features that were found to the set, except those that the server refuses.
func (u *upstream) fillSet(c *callerFeatures, on *connection) {
	omitted := make(omissions)
	note := func(err error) {
		if err != nil {
			omitted.add(u, "%v", err)
		}
	}
	for _, t := range c.found.approved {
		if entry, ok := u.toolEntry(t, omitted); ok {
			note(c.set.AddTool(entry.definition, u.callTool(entry, on)))
		}
	}
	for _, p := range c.found.prompts {
		entry := u.promptEntry(p)
		note(c.set.AddPrompt(entry.definition, u.getPrompt(p.Name, on), u.promptOptions(p.Name, on)...))
	}
	for _, r := range c.found.resources {
		note(c.set.AddResource(r, u.readResource(on)))
	}
	for _, t := range c.found.templates {
		note(c.set.AddTemplate(t, u.readResource(on), u.templateOptions(t.URITemplate, on)...))
	}
	for _, text := range omitted[u] {
		u.log.Warn("a feature for some callers is left out", "reason", text)
	}
}

// callerFeatureSize is the size of the features for some callers.
type callerFeatureSize struct{ number, bytes, left int }

// missing returns the listed features whose key no known one has, each once, as far as the
// limits allow.
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
		encoded, err := json.Marshal(def)
		if err != nil || size.number == maxCallerFeatures || size.bytes+len(encoded) > maxCallerFeatureBytes {
			size.left++
			continue
		}
		size.number++
		size.bytes += len(encoded)
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
		tools:     !equalDefs(a.approved, b.approved),
		prompts:   !equalDefs(a.prompts, b.prompts),
		resources: !equalDefs(a.resources, b.resources) || !equalDefs(a.templates, b.templates),
	}
}

// equalDefs reports whether two lists are equal, which is fast for a list and itself.
func equalDefs[Def any](a, b []Def) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || reflect.DeepEqual(a, b))
}

// notifySession notifies the session of a connection. There is nobody to notify in the stateless
// era, in whose lists the features of a connection are not.
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
func (l changedLists) notifyClients(s *mcpserver.Server, c callerCapabilities) {
	match := func(r mcp.Revision, declared mcp.ClientCapabilities) bool {
		return capabilitiesIn(r, declared).forLists() == c
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
	for _, u := range g.list() {
		capable, own := u.callerFeatures(callerOf(r))
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
func (u *upstream) callerFeatures(c caller) (capable *callerFeatures, own []*callerFeatures) {
	if u.Settings.Share {
		return nil, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.withdrawn {
		return nil, nil
	}
	if l := u.capabilityLists[c.capabilities.forLists()]; l != nil {
		capable = l.features
	}
	for ; c.index < maxConnectionsPerCaller; c.index++ {
		conn := u.callerConnections[c]
		if conn == nil {
			continue
		}
		if features := conn.ownFeatures(); features != nil {
			own = append(own, features)
		}
	}
	return capable, own
}

// callerCatalogs returns the features of the upstream that a caller can use and not everybody.
func (u *upstream) callerCatalogs(c caller) []*catalog {
	capable, own := u.callerFeatures(c)
	all := []*catalog{capable.catalog()}
	for _, features := range own {
		all = append(all, features.found)
	}
	return all
}

// ownFeatures returns the features that only the connection's caller has, or nil.
func (c *connection) ownFeatures() *callerFeatures {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.features
}

// setOwnFeatures replaces the features of the connection's caller, and returns the lists that
// have changed.
func (c *connection) setOwnFeatures(now *callerFeatures) changedLists {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.features
	c.features = now
	return before.changedTo(now)
}

// dropFeatures removes the features of a connection that was lost or closed: its server has
// forgotten them.
func (c *connection) dropFeatures() {
	if changed := c.setOwnFeatures(nil); c.featuresDropped != nil {
		c.featuresDropped(changed)
	}
}

// readOwnFeatures lists the features of a caller's connection. If a list cannot be read, the
// connection keeps those that it has.
func (u *upstream) readOwnFeatures(ctx context.Context, client *mcpclient.Client, c caller, conn *connection) {
	before := conn.ownFeatures()
	listed, err := readCatalog(ctx, client, before.catalog())
	if err != nil {
		u.log.Warn("cannot list the features of a caller's connection", "error", err)
		return
	}
	for _, reason := range listed.omitted {
		u.log.Warn("cannot list features of a caller's connection", "reason", reason)
	}
	now, err := u.newCallerFeatures(listed, u.knownFeatures(c.capabilities), before, conn)
	if err != nil {
		u.log.Error("cannot compare the tools with the approved definitions", "error", err)
		return
	}
	conn.setOwnFeatures(now).notifySession(c.session)
}

// refreshOwnFeatures has the lists of caller connections with features of their own read again
// after those of everybody have changed: what is everybody's now can be removed from them later.
// A program has lists of its own for each connection.
func (u *upstream) refreshOwnFeatures() {
	if u.isProgram() {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, conn := range u.callerConnections {
		if own := conn.ownFeatures(); own != nil && own.set.Len() > 0 {
			conn.requestRefresh()
		}
	}
}

// knownFeatures returns the features that an upstream lists for a caller before its first call.
func (u *upstream) knownFeatures(c callerCapabilities) *catalog {
	u.mu.Lock()
	defer u.mu.Unlock()
	known, capable := u.catalog, new(catalog)
	if l := u.capabilityLists[c.forLists()]; l != nil {
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
func (u *upstream) hiddenCallerTool(c caller, wire string) (name string, outcome host.Outcome) {
	for _, cat := range u.callerCatalogs(c) {
		if name, outcome = u.hiddenToolIn(cat, wire); name != "" {
			return name, outcome
		}
	}
	return "", ""
}

// refilterCallerTools divides the tools that only some callers have again, after an approval.
func (u *upstream) refilterCallerTools() {
	u.mu.Lock()
	lists, connections := maps.Clone(u.capabilityLists), maps.Clone(u.callerConnections)
	u.mu.Unlock()
	refilter := func(before *callerFeatures, on *connection) *callerFeatures {
		if len(before.catalog().tools) == 0 {
			return nil
		}
		now, err := u.newCallerFeatures(before.found, new(catalog), before, on)
		if err != nil {
			u.log.Error("cannot compare the tools with the approved definitions", "error", err)
			return nil
		}
		return now
	}
	for c, l := range lists {
		u.mu.Lock()
		before := l.features
		u.mu.Unlock()
		now := refilter(before, nil)
		u.mu.Lock()
		replaced := now != nil && l.features == before // otherwise a read has filtered its own tools
		if replaced {
			l.features = now
		}
		u.mu.Unlock()
		if replaced {
			before.changedTo(now).notifyClients(u.gateway.server, c)
		}
	}
	for c, conn := range connections {
		before := conn.ownFeatures()
		if now := refilter(before, conn); now != nil && conn.replaceOwnFeatures(before, now) {
			before.changedTo(now).notifySession(c.session)
		}
	}
}

// replaceOwnFeatures replaces the features of the connection's caller unless they have changed.
func (c *connection) replaceOwnFeatures(before, now *callerFeatures) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.features != before {
		return false
	}
	c.features = now
	return true
}

// callerWithheld returns the withheld tools that only some callers have, each once. The
// caller holds mu.
func (u *upstream) callerWithheld() []host.Withheld {
	byName := make(map[string]host.Withheld)
	add := func(features *callerFeatures) {
		for _, w := range features.catalog().withheld {
			if len(byName) < maxCallerFeatures {
				byName[w.Tool] = w
			}
		}
	}
	for _, l := range u.capabilityLists {
		add(l.features)
	}
	for _, conn := range u.callerConnections {
		add(conn.ownFeatures())
	}
	for _, w := range u.catalog.withheld {
		delete(byName, w.Tool)
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b host.Withheld) int { return strings.Compare(a.Tool, b.Tool) })
}
