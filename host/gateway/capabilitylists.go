package gateway

import (
	"context"

	"github.com/fondaco/fondaco/host/gateway/catalog"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// readCapabilityLists is middleware that reads the features of all upstreams for the capabilities of
// a caller, if they are not known yet, before it passes on a request for a list.
func (g *Gateway) readCapabilityLists(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		if isList(r.Method()) {
			g.waitForCapabilityLists(ctx, r)
		}
		return next(ctx, r)
	}
}

// waitForCapabilityLists reads the features of all upstreams for the capabilities of a caller, if
// they are not known yet, and reports whether there was a read to wait for.
func (g *Gateway) waitForCapabilityLists(ctx context.Context, r *mcpserver.Request) bool {
	var reads []*catalog.ListRead
	for _, u := range g.list() {
		if read := u.source.ReadCapabilityList(link.CapabilitiesOf(r), r.Owner()); read != nil && !u.startsLate() {
			reads = append(reads, read)
		}
	}
	for _, read := range reads {
		read.Wait(ctx)
	}
	return len(reads) > 0
}
