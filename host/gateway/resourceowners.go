package gateway

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// maxResourcesPerCaller limits the resources remembered for one caller, maxURIBytesPerCaller
	// their URIs, and maxResourceCallers the callers. The oldest is dropped.
	maxResourcesPerCaller = 256
	maxURIBytesPerCaller  = 64 << 10
	maxResourceCallers    = 1024
)

// resourceOwners remembers which upstream named a resource in a result to a caller. Such
// a resource need not be listed: a server may create it for one session, and only the
// connection that named it can read it.
//
// Spec: 2026-07-28 server/tools#resource-links
type resourceOwners struct {
	mu       sync.Mutex
	byCaller map[caller]*ownedResources // guarded by mu
	order    []caller                   // guarded by mu: oldest first
}

// ownedResources are the resources named to one caller.
type ownedResources struct {
	owners map[string]*upstream // by URI
	order  []string
	bytes  int // of the URIs
}

// addContents remembers the resources that a result contains or links to.
func (l *resourceOwners) addContents(c caller, u *upstream, contents mcp.Contents) {
	for _, content := range contents {
		switch content := content.(type) {
		case mcp.ResourceLink:
			l.add(c, u, content.URI)
		case mcp.EmbeddedResource:
			l.add(c, u, content.Resource.URI)
		}
	}
}

func (l *resourceOwners) add(c caller, u *upstream, uri string) {
	if len(uri) > maxURIBytesPerCaller {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	resources := l.byCaller[c]
	if resources == nil {
		resources = l.addCaller(c)
	}
	if _, known := resources.owners[uri]; !known {
		resources.order = append(resources.order, uri)
		resources.bytes += len(uri)
	}
	resources.owners[uri] = u
	for len(resources.order) > maxResourcesPerCaller || resources.bytes > maxURIBytesPerCaller {
		delete(resources.owners, resources.order[0])
		resources.bytes -= len(resources.order[0])
		resources.order = slices.Delete(resources.order, 0, 1)
	}
}

// addCaller adds a caller, whose resources are dropped with its session. The caller of
// the method holds mu.
func (l *resourceOwners) addCaller(c caller) *ownedResources {
	if len(l.order) == maxResourceCallers {
		delete(l.byCaller, l.order[0])
		l.order = slices.Delete(l.order, 0, 1)
	}
	if l.byCaller == nil {
		l.byCaller = make(map[caller]*ownedResources)
	}
	resources := &ownedResources{owners: make(map[string]*upstream)}
	l.byCaller[c] = resources
	l.order = append(l.order, c)
	if c.session != nil {
		context.AfterFunc(c.session.Context(), func() { l.removeCaller(c) })
	}
	return resources
}

func (l *resourceOwners) removeCaller(c caller) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byCaller, c)
	l.order = slices.DeleteFunc(l.order, func(other caller) bool { return other == c })
}

// owner returns the upstream that named a resource to a caller, or nil.
func (l *resourceOwners) owner(c caller, uri string) *upstream {
	l.mu.Lock()
	defer l.mu.Unlock()
	if resources := l.byCaller[c]; resources != nil {
		return resources.owners[uri]
	}
	return nil
}

// readOwnedResource is middleware that reads a resource that is not listed from the
// upstream that named it to the caller.
func (g *Gateway) readOwnedResource(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		if r.Method() != mcp.MethodResourcesRead {
			return next(ctx, r)
		}
		var p mcp.ReadResourceParams
		if r.Decode(&p) != nil || g.ownerOf(r, p.URI) != nil {
			return next(ctx, r)
		}
		u := g.resourceOwners.owner(callerOf(r), p.URI)
		if u == nil || !slices.Contains(g.list(), u) {
			return next(ctx, r)
		}
		result, err := u.read(ctx, p.URI, func(ctx context.Context, _ host.Decision, what sendFunc) (mcp.Result, error) {
			return u.forward(ctx, nil, what) // middleware cannot ask
		})
		if errors.Is(err, mcpserver.ErrNotFound) {
			return next(ctx, r) // returns not found as the revision defines it
		}
		return result, err
	}
}
