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
	// maxCallerTools limits the tools that one upstream has for one caller, or for certain
	// capabilities, and maxCallerToolBytes their definitions. The rest is left out.
	maxCallerTools     = 1000
	maxCallerToolBytes = 1 << 20
)

// callerTools are the tools of an upstream that only some callers see: those whose client
// has certain capabilities, or the caller of one connection. They are not changed after they
// were made.
type callerTools struct {
	found []mcp.Tool // as the upstream defines them
	set   *mcpserver.ToolSet
	hides *catalog // the denied and withheld ones, for the record
}

// newCallerTools returns the tools that are not among the known ones, under the rules and
// approvals of all tools. before are those that were read last, or nil. Calls use the given
// connection; nil stands for any connection of their caller.
func (u *upstream) newCallerTools(listed []mcp.Tool, known *catalog, before *callerTools, on *connection) (*callerTools, error) {
	c := &callerTools{set: u.gateway.server.NewToolSet()}
	names, size := make(map[string]bool, len(known.tools)), 0
	for i := range known.tools {
		names[known.tools[i].Name] = true
	}
	for i := range listed {
		t := &listed[i]
		if names[t.Name] {
			continue
		}
		encoded, err := json.Marshal(t)
		if size += len(encoded); err != nil || size > maxCallerToolBytes || len(c.found) == maxCallerTools {
			u.log.Warn("tools for some callers are left out", "limit", maxCallerTools, "limit bytes", maxCallerToolBytes, "error", err)
			break
		}
		names[t.Name] = true
		c.found = append(c.found, *t)
	}
	c.hides = &catalog{tools: c.found}
	if len(c.found) == 0 {
		return c, nil
	}
	if err := u.gateway.options.filterTools(&u.Upstream, c.hides); err != nil {
		return nil, err
	}
	if before == nil {
		before = &callerTools{hides: new(catalog)}
	}
	u.recordWithheld(before.hides.withheld, c.hides.withheld)
	omitted := make(omissions)
	for _, t := range c.hides.approved {
		entry, ok := u.toolEntry(t, omitted)
		if !ok {
			continue
		}
		if err := c.set.Add(entry.definition, u.callTool(entry, on)); err != nil {
			omitted.add(u, "%v", err)
		}
	}
	for _, text := range omitted[u] {
		u.log.Warn("a tool for some callers is left out", "reason", text)
	}
	return c, nil
}

// equal reports whether two sets have the same tools. Nil is empty.
func (c *callerTools) equal(other *callerTools) bool {
	if c == nil || other == nil {
		return c.len() == other.len()
	}
	return reflect.DeepEqual(c.found, other.found)
}

func (c *callerTools) len() int {
	if c == nil {
		return 0
	}
	return len(c.found)
}

// requestTools is mcpserver.Options.RequestTools. Tools of the caller's own connection are
// listed only in a session: a list of the stateless era must not depend on other requests.
//
// Spec: 2026-07-28 server/tools#listing-tools
func (g *Gateway) requestTools(r *mcpserver.Request) (listed, unlisted []*mcpserver.ToolSet) {
	for _, u := range g.list() {
		capable, own := u.callerTools(callerOf(r))
		if capable != nil {
			listed = append(listed, capable.set)
		}
		for _, tools := range own {
			if r.Session() != nil {
				listed = append(listed, tools.set)
			} else {
				unlisted = append(unlisted, tools.set)
			}
		}
	}
	return listed, unlisted
}

// callerTools returns the tools of the capabilities of a caller, or nil, and those of its own
// connections.
func (u *upstream) callerTools(c caller) (capable *callerTools, own []*callerTools) {
	if u.Settings.Share {
		return nil, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.withdrawn {
		return nil, nil
	}
	if l := u.capabilityLists[c.capabilities.forLists()]; l != nil {
		capable = l.tools
	}
	for ; c.index < maxConnectionsPerCaller; c.index++ {
		conn := u.callerConnections[c]
		if conn == nil {
			continue
		}
		if tools := conn.ownTools(); tools.len() > 0 {
			own = append(own, tools)
		}
	}
	return capable, own
}

// ownTools returns the tools that only the connection's caller has, or nil.
func (c *connection) ownTools() *callerTools {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tools
}

// setOwnTools replaces the tools of the connection's caller, and reports whether that was a
// change.
func (c *connection) setOwnTools(tools *callerTools) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.tools
	c.tools = tools
	return !before.equal(tools)
}

// dropTools removes the tools of a connection that was lost or closed: its server has
// forgotten them.
func (c *connection) dropTools() {
	if c.setOwnTools(nil) && c.toolsDropped != nil {
		c.toolsDropped()
	}
}

// readOwnTools lists the tools of a caller's connection. If it fails, the connection keeps
// the tools that it has.
func (u *upstream) readOwnTools(ctx context.Context, client *mcpclient.Client, c caller, conn *connection) {
	listed, err := collect(client.Tools(ctx, mcpclient.WithTimeout(listTimeout), mcpclient.NoCache()))
	if err != nil {
		u.log.Warn("cannot list the tools of a caller's connection", "error", err)
		return
	}
	known := u.knownTools(c.capabilities)
	tools, err := u.newCallerTools(listed, known, conn.ownTools(), conn)
	if err != nil {
		u.log.Error("cannot compare the tools with the approved definitions", "error", err)
		return
	}
	if conn.setOwnTools(tools) {
		u.ownToolsChanged(c)
	}
}

// ownToolsChanged notifies the session of a connection. There is nobody to notify in the
// stateless era, in whose lists the tools are not.
func (u *upstream) ownToolsChanged(c caller) { c.session.ToolsChanged() }

// knownTools returns the tools that an upstream lists for a caller before its first call.
func (u *upstream) knownTools(c callerCapabilities) *catalog {
	u.mu.Lock()
	defer u.mu.Unlock()
	known := &catalog{tools: u.catalog.tools}
	if l := u.capabilityLists[c.forLists()]; l != nil && l.tools != nil {
		known.tools = slices.Concat(known.tools, l.tools.found)
	}
	return known
}

// hiddenCallerTool is hiddenTool for the tools of one caller.
func (u *upstream) hiddenCallerTool(c caller, wire string) (name string, outcome host.Outcome) {
	capable, own := u.callerTools(c)
	for _, tools := range append(own, capable) {
		if tools == nil {
			continue
		}
		if name, outcome = u.hiddenToolIn(tools.hides, wire); name != "" {
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
	refilter := func(before *callerTools, on *connection) *callerTools {
		if before.len() == 0 {
			return nil
		}
		now, err := u.newCallerTools(before.found, new(catalog), before, on)
		if err != nil {
			u.log.Error("cannot compare the tools with the approved definitions", "error", err)
			return nil
		}
		return now
	}
	for c, l := range lists {
		u.mu.Lock()
		before := l.tools
		u.mu.Unlock()
		now := refilter(before, nil)
		u.mu.Lock()
		replaced := now != nil && l.tools == before // otherwise a read has filtered its own tools
		if replaced {
			l.tools = now
		}
		u.mu.Unlock()
		if replaced && !before.visiblyEqual(now) {
			u.capabilityToolsChanged(c)
		}
	}
	for c, conn := range connections {
		before := conn.ownTools()
		if now := refilter(before, conn); now != nil && conn.replaceOwnTools(before, now) && !before.visiblyEqual(now) {
			u.ownToolsChanged(c)
		}
	}
}

// visiblyEqual reports whether two sets without tools that are denied or withheld are equal.
func (c *callerTools) visiblyEqual(other *callerTools) bool {
	return reflect.DeepEqual(c.hides.approved, other.hides.approved)
}

// replaceOwnTools replaces the tools of the connection's caller unless they have changed.
func (c *connection) replaceOwnTools(before, now *callerTools) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tools != before {
		return false
	}
	c.tools = now
	return true
}

// callerWithheld returns the withheld tools that only some callers have, each once. The
// caller holds mu.
func (u *upstream) callerWithheld() []host.Withheld {
	byName := make(map[string]host.Withheld)
	add := func(tools *callerTools) {
		if tools.len() == 0 {
			return
		}
		for _, w := range tools.hides.withheld {
			if len(byName) < maxCallerTools {
				byName[w.Tool] = w
			}
		}
	}
	for _, l := range u.capabilityLists {
		add(l.tools)
	}
	for _, conn := range u.callerConnections {
		add(conn.ownTools())
	}
	for _, w := range u.catalog.withheld {
		delete(byName, w.Tool)
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b host.Withheld) int { return strings.Compare(a.Tool, b.Tool) })
}
