package gateway

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// maxLinks bounds the links of one caller that are remembered, and maxLinked
	// the callers.
	maxLinks  = 256
	maxLinked = 1024
)

// links are resources that results have named to a caller. They need not be
// listed anywhere: a server may make a resource for one session alone, and only
// the line on which it was named leads to it.
//
// Spec: 2026-07-28 server/tools#resource-links
type links struct {
	mu       sync.Mutex
	byCaller map[caller]*linked // guarded by mu
	order    []caller           // guarded by mu: the one that was added last is last
}

// linked are the links of one caller.
type linked struct {
	from  map[string]*upstream // by URI
	order []string
}

// note remembers what a result names.
func (l *links) note(c caller, u *upstream, contents mcp.Contents) {
	for _, content := range contents {
		switch content := content.(type) {
		case mcp.ResourceLink:
			l.add(c, u, content.URI)
		case mcp.EmbeddedResource:
			l.add(c, u, content.Resource.URI)
		}
	}
}

func (l *links) add(c caller, u *upstream, uri string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.byCaller[c]
	if own == nil {
		own = l.begin(c)
	}
	if _, known := own.from[uri]; !known {
		own.order = append(own.order, uri)
	}
	own.from[uri] = u
	if len(own.order) > maxLinks {
		delete(own.from, own.order[0])
		own.order = slices.Delete(own.order, 0, 1)
	}
}

// begin makes room for a caller, whose links are forgotten with its session. The
// caller of it holds mu.
func (l *links) begin(c caller) *linked {
	if len(l.order) == maxLinked {
		delete(l.byCaller, l.order[0])
		l.order = slices.Delete(l.order, 0, 1)
	}
	if l.byCaller == nil {
		l.byCaller = make(map[caller]*linked)
	}
	own := &linked{from: make(map[string]*upstream)}
	l.byCaller[c] = own
	l.order = append(l.order, c)
	if c.session != nil {
		context.AfterFunc(c.session, func() { l.forget(c) })
	}
	return own
}

func (l *links) forget(c caller) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byCaller, c)
	l.order = slices.DeleteFunc(l.order, func(other caller) bool { return other == c })
}

// holder returns the upstream that has named a resource to a caller, or nil.
func (l *links) holder(c caller, uri string) *upstream {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own := l.byCaller[c]; own != nil {
		return own.from[uri]
	}
	return nil
}

// readLinked is middleware that reads resources that are not offered to
// everybody where they were named to the caller.
func (g *Gateway) readLinked(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		if r.Method != mcp.MethodResourcesRead {
			return next(ctx, r)
		}
		var p mcp.ReadResourceParams
		if r.Decode(&p) != nil || g.upstreamOf(p.URI) != nil {
			return next(ctx, r)
		}
		u := g.links.holder(callerOf(r), p.URI)
		if u == nil || !slices.Contains(g.all(), u) {
			return next(ctx, r)
		}
		result, err := u.read(ctx, p.URI, u.forward) // nothing can be asked here
		if errors.Is(err, mcpserver.ErrNotFound) {
			return next(ctx, r) // which says so in the words of the revision
		}
		return result, err
	}
}
