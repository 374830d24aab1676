package gateway

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// maxFollowed bounds the resources whose changes are followed.
	maxFollowed = 1024
	// followGrace is how long a subscriber waits until the upstream tells of
	// changes, so that none is missed between.
	followGrace = 3 * time.Second
)

// followWatched is middleware that follows each resource upstream from the
// moment when somebody watches it.
func (g *Gateway) followWatched(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		var listen mcp.ListenParams
		var subscribe mcp.SubscribeParams
		switch {
		case r.Method == mcp.MethodListen && r.Decode(&listen) == nil:
			g.follow(ctx, listen.Notifications.ResourceSubscriptions...)
		case r.Method == mcp.MethodResourcesSubscribe && r.Decode(&subscribe) == nil:
			g.follow(ctx, subscribe.URI)
		}
		return next(ctx, r)
	}
}

// follow begins to follow resources that are not followed yet, and waits a
// little for the upstreams to agree.
func (g *Gateway) follow(ctx context.Context, uris ...string) {
	var all []<-chan struct{}
	for _, uri := range uris {
		if u := g.upstreamOf(uri); u != nil {
			all = append(all, g.followed.begin(uri, func(placed func()) { u.follow(g.ctx, uri, placed) }))
		}
	}
	grace := time.NewTimer(followGrace)
	defer grace.Stop()
	for _, placed := range all {
		select {
		case <-placed:
		case <-grace.C:
			return
		case <-ctx.Done():
			return
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
	for _, u := range g.upstreams {
		for _, t := range u.listed().templates {
			if literal, _, _ := strings.Cut(t.URITemplate, "{"); strings.HasPrefix(uri, literal) {
				return u
			}
		}
	}
	return nil
}

// follow passes the changes of a resource on until ctx is done, or the upstream
// does not tell of them. It calls placed once the upstream does.
func (u *upstream) follow(ctx context.Context, uri string, placed func()) {
	client, err := u.clientFor(ctx)
	if err != nil {
		return
	}
	begun, first := time.Now(), true
	for changed, err := range client.Watch(ctx, uri) {
		if err != nil {
			u.gateway.options.logger().Info("resource is not followed", "upstream", u.Key, "uri", uri, "error", err)
			return
		}
		inTime := first && time.Since(begun) < followGrace
		first = false
		placed()
		if !inTime { // else the subscriber has waited, and missed nothing
			u.gateway.server.Updated(changed)
		}
	}
}

// followed is the set of resources that are followed.
type followed struct {
	mu    sync.Mutex               // guards the fields below
	uris  map[string]chan struct{} // closed once it is in place, or has come to nothing
	ended bool
	work  sync.WaitGroup
}

// nothing is the channel of what need not be waited for.
var nothing = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// begin runs follow, apart, unless the resource is followed already or the set
// is full. The channel is closed when there is nothing to wait for any more.
func (f *followed) begin(uri string, follow func(placed func())) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c, ok := f.uris[uri]; ok {
		return c
	}
	if f.ended || len(f.uris) >= maxFollowed {
		return nothing
	}
	if f.uris == nil {
		f.uris = make(map[string]chan struct{})
	}
	c := make(chan struct{})
	f.uris[uri] = c
	f.work.Go(func() {
		placed := sync.OnceFunc(func() { close(c) })
		defer placed()
		follow(placed)
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.uris, uri)
	})
	return c
}

// end waits for what runs, whose context is done, and lets nothing begin.
func (f *followed) end() {
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	f.work.Wait()
}
