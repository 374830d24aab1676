package gateway

import (
	"context"

	"github.com/fondaco/fondaco/host/gateway/catalog"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// readCapabilityLists is middleware that begins to read the features of all upstreams for the
// capabilities of a caller, if they are not known yet, when it requests a list. The request does not
// wait: the caller gets the features of everybody at once, and is notified of the others.
func (g *Gateway) readCapabilityLists(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		if isList(r) {
			g.beginCapabilityLists(r)
		}
		return next(ctx, r)
	}
}

// beginCapabilityLists begins the reads of features for the capabilities of a caller that are due, and
// returns those of upstreams whose features are known.
func (g *Gateway) beginCapabilityLists(r *mcpserver.Request) (reads []*catalog.ListRead) {
	for _, u := range g.list() {
		if read := u.source.ReadCapabilityList(link.CapabilitiesOf(r), r.Owner()); read != nil && u.source.IsListed() {
			reads = append(reads, read)
		}
	}
	return reads
}

// waitForCapabilityLists waits for the reads of features for the capabilities of a caller, for as long as
// requests for resources wait, and reports whether there was one. An upstream whose features are not known
// yet was waited for before, see waitForResources.
func (g *Gateway) waitForCapabilityLists(ctx context.Context, r *mcpserver.Request) bool {
	ctx, cancel := context.WithDeadline(ctx, mcpserver.StartedAt(ctx).Add(resourceWait))
	defer cancel()
	reads := g.beginCapabilityLists(r)
	for _, read := range reads {
		read.Wait(ctx)
	}
	return len(reads) > 0
}
