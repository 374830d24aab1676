package gateway

import (
	"context"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// maxFollowed bounds the resources whose changes are followed.
const maxFollowed = 1024

// followWatched is middleware that follows each resource upstream from the
// moment when somebody watches it.
func (g *Gateway) followWatched(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		switch r.Method {
		case mcp.MethodListen:
			var p mcp.ListenParams
			if r.Decode(&p) == nil {
				g.follow(p.Notifications.ResourceSubscriptions...)
			}
		case mcp.MethodResourcesSubscribe:
			var p mcp.SubscribeParams
			if r.Decode(&p) == nil {
				g.follow(p.URI)
			}
		}
		return next(ctx, r)
	}
}

// follow begins to follow resources that are not followed yet.
func (g *Gateway) follow(uris ...string) {
	for _, uri := range uris {
		if u := g.upstreamOf(uri); u != nil {
			g.followed.begin(uri, func() { u.follow(g.ctx, uri) })
		}
	}
}

// upstreamOf returns the upstream that has a resource: by its URI, else by a
// template that it may match, or nil.
func (g *Gateway) upstreamOf(uri string) *upstream {
	g.merger.mu.Lock()
	defer g.merger.mu.Unlock()
	if o, ok := g.merger.now.resources[uri]; ok {
		return o.from
	}
	for template, o := range g.merger.now.templates {
		literal, _, _ := strings.Cut(template, "{")
		if strings.HasPrefix(uri, literal) {
			return o.from
		}
	}
	return nil
}

// follow passes the changes of a resource on until ctx is done, or the upstream
// does not tell of them.
func (u *upstream) follow(ctx context.Context, uri string) {
	client, err := u.clientFor(ctx)
	if err != nil {
		return
	}
	for changed, err := range client.Watch(ctx, uri) {
		if err != nil {
			u.gateway.options.logger().Info("resource is not followed", "upstream", u.Key, "uri", uri, "error", err)
			return
		}
		u.gateway.server.Updated(changed)
	}
}

// followed is the set of resources that are followed.
type followed struct {
	mu    sync.Mutex // guards the fields below
	uris  map[string]bool
	ended bool
	work  sync.WaitGroup
}

// begin runs follow, apart, unless the resource is followed already or the set
// is full.
func (f *followed) begin(uri string, follow func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended || f.uris[uri] || len(f.uris) >= maxFollowed {
		return
	}
	if f.uris == nil {
		f.uris = make(map[string]bool)
	}
	f.uris[uri] = true
	f.work.Go(func() {
		follow()
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.uris, uri)
	})
}

// end waits for what runs, whose context is done, and lets nothing begin.
func (f *followed) end() {
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	f.work.Wait()
}
