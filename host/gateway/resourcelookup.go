package gateway

import (
	"context"
	"encoding/json/v2"
	"errors"

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

// resourcesOf returns the URIs of the resources, or of the template, that a request is about, and whether it
// is about any.
func resourcesOf(r *mcpserver.Request) (uris []string, ok bool) {
	if kindOf(r).names == namesByReference {
		f, _ := decodeNamed(r)
		return []string{f.Ref.URI}, f.Ref.Type == mcp.RefResource
	}
	uris = urisOf(r)
	return uris, len(uris) > 0
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

// resourceNotFound returns the error for a URI that leads to no upstream.
func resourceNotFound(uri string) error {
	err := mcp.Errorf(mcp.CodeResourceNotFound, "resource %.128q: not found", uri)
	err.Data, _ = json.Marshal(mcp.ResourceNotFoundData{URI: uri})
	return err
}

// isNotFound reports whether an upstream says that a resource does not exist. In the
// stateless era that is invalid params with data that names the resource.
func isNotFound(err error, uri string) bool {
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || e.Code != mcp.CodeInvalidParams {
		return ok && e.Code == mcp.CodeResourceNotFound
	}
	var data mcp.ResourceNotFoundData
	return json.Unmarshal(e.Data, &data) == nil && data.URI == uri
}
