package gateway

import (
	"context"

	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/host/gateway/relay"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// addUnlistedResources is middleware that lets a request use the resources that are in no list
// and that no template matches: those that a result has named, and those of qualified URIs.
// requestFeatures returns them to the server.
func (g *Gateway) addUnlistedResources(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		if set := g.unlistedResources(ctx, r); set.Len() > 0 {
			g.unlisted.Store(r, set)
			defer g.unlisted.Delete(r)
		}
		return next(ctx, r)
	}
}

// unlistedResources returns the resources of a request that are not registered, or nil.
func (g *Gateway) unlistedResources(ctx context.Context, r *mcpserver.Request) (set *mcpserver.FeatureSet) {
	for _, uri := range urisOf(r) {
		if g.merger.isRegistered(uri) {
			continue
		}
		if _, ok := g.resourceOwner(ctx, link.CallerOf(r), uri); !ok {
			continue
		}
		if set == nil {
			set = g.server.NewFeatureSet()
		}
		_ = set.AddResource(mcp.Resource{URI: uri, Name: uri}, g.readResource) // otherwise it is no URI, and unknown
	}
	return set
}

// urisOf returns the URIs of the resources that a request is about.
func urisOf(r *mcpserver.Request) []string {
	switch r.Method() {
	case mcp.MethodResourcesRead:
		var p mcp.ReadResourceParams
		if r.Decode(&p) == nil {
			return []string{p.URI}
		}
	case mcp.MethodResourcesSubscribe:
		var p mcp.SubscribeParams
		if r.Decode(&p) == nil {
			return []string{p.URI}
		}
	case mcp.MethodListen:
		var p mcp.ListenParams
		if r.Decode(&p) == nil {
			uris := p.Notifications.ResourceSubscriptions
			return uris[:min(len(uris), relay.MaxWatches)] // with more it is refused
		}
	}
	return nil
}

// hasResource reports whether the sender of a request can use the resource of a URI.
func (g *Gateway) hasResource(ctx context.Context, r *mcpserver.Request, uri string) bool {
	_, ok := g.resourceOwner(ctx, link.CallerOf(r), uri)
	return ok
}
