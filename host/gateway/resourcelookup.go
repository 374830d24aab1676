package gateway

import (
	"context"

	"github.com/fondaco/fondaco/host/gateway/catalog"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/host/gateway/relay"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// addUnlistedResources is middleware that lets a request use the resources that are in no list
// and that no template matches: those that a result has named, and those of qualified URIs.
func (g *Gateway) addUnlistedResources(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		if remove := g.catalog.AddUnlisted(ctx, r, urisOf(r)); remove != nil {
			defer remove()
		}
		return next(ctx, r)
	}
}

// resourceOwner returns the upstream that has the resource of a URI for the sender of a request, or nil,
// and where the resource is there.
func (g *Gateway) resourceOwner(ctx context.Context, r *mcpserver.Request, uri string) (*upstream, catalog.Owner) {
	owner, ok := g.catalog.Owner(ctx, link.CallerOf(r), uri)
	if !ok {
		return nil, owner
	}
	for _, u := range g.list() {
		if u.source == owner.Source {
			return u, owner
		}
	}
	return nil, owner // it was just removed from the configuration
}

// urisOf returns the URIs of the resources that a request is about.
func urisOf(r *mcpserver.Request) []string {
	switch kindOf(r).names {
	case namesByURI:
		if f, ok := decodeNamed(r); ok {
			return []string{f.URI}
		}
	case namesBySubscription:
		var p mcp.ListenParams
		if r.Decode(&p) == nil {
			uris := p.Notifications.ResourceSubscriptions
			return uris[:min(len(uris), relay.MaxWatches)] // with more it is refused
		}
	}
	return nil
}
