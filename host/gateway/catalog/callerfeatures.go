package catalog

import (
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
	// claims are the numbers of the claims on the resources, by the normal form of the URI, see claim.
	claims  map[string]uint64
	listing host.Listing // who sees them
	bytes   int          // of the definitions
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
