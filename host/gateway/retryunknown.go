package gateway

import (
	"context"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// retryUnknown is middleware that reads the lists of an upstream again when a request names a
// tool or prompt that is unknown: the upstream may have added it without an announcement. If the
// upstream waits for approval, the error says so. The lists are also read again when the upstream
// does not know a feature that it has listed. An unknown resource may be of any upstream, so only the
// lists for the caller's capabilities are read for it.
func (g *Gateway) retryUnknown(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		result, err := next(ctx, r)
		if err == nil || !isUnknown(err) {
			return result, err
		}
		f, ok := decodeNamed(r)
		switch kind := kindOf(r); {
		case !kind.uses || !ok:
		case kind.names == namesByName:
			u := g.byKey(host.KeyOf(f.Name))
			if u == nil {
				return result, err
			}
			if u.source.ReadAgainFor(ctx, r, f.Name) {
				if result, err = next(ctx, r); err == nil || !isUnknown(err) {
					return result, err
				}
			}
			return result, u.explainUnknown(r, f.Name, err)
		case kind.names == namesByURI:
			if !g.catalog.HasResource(ctx, r, f.URI) && g.waitForCapabilityLists(ctx, r) && g.catalog.HasResource(ctx, r, f.URI) {
				return next(ctx, r)
			}
		}
		return result, err
	}
}

// isUnknown reports whether an error may say that a feature is unknown.
func isUnknown(err error) bool {
	switch mcp.CodeOf(err) {
	case mcp.CodeInvalidParams, mcp.CodeMethodNotFound, mcp.CodeResourceNotFound:
		return true
	}
	return false
}
