package gateway

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// relaySubscriptions is middleware that watches a resource at its upstream while a client
// is subscribed: in the session era from resources/subscribe to resources/unsubscribe,
// another initialize or the end of the session, in the stateless era during
// subscriptions/listen.
func (g *Gateway) relaySubscriptions(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		switch r.Method() {
		case mcp.MethodInitialize:
			result, err := next(ctx, r)
			if err == nil {
				g.resourceSubscriptions.endAll(r.Session())
			}
			return result, err
		case mcp.MethodListen:
			var p mcp.ListenParams
			if r.Decode(&p) == nil {
				defer g.watchAll(ctx, r, p.Notifications.ResourceSubscriptions)()
			}
		case mcp.MethodResourcesSubscribe:
			var p mcp.SubscribeParams
			if r.Decode(&p) == nil {
				return g.subscribe(ctx, r, p.URI, next)
			}
		case mcp.MethodResourcesUnsubscribe:
			var p mcp.SubscribeParams
			if r.Decode(&p) == nil {
				g.resourceSubscriptions.end(subscription{r.Session(), p.URI})
			}
		}
		return next(ctx, r)
	}
}

// watchAll watches resources for subscriptions/listen until stop is called. Resources
// whose upstream refuses are left out.
func (g *Gateway) watchAll(ctx context.Context, r *mcpserver.Request, uris []string) (stop func()) {
	var watches []*watch
	var stops []func()
	for _, uri := range uris {
		if u := g.ownerOf(r, uri); u != nil {
			w, stop := u.watch(r, uri)
			watches, stops = append(watches, w), append(stops, stop)
		}
	}
	for _, w := range watches {
		if w != nil {
			_ = w.waitEstablished(ctx)
		}
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// subscribe watches a resource for a session. It fails if the upstream refuses.
func (g *Gateway) subscribe(ctx context.Context, r *mcpserver.Request, uri string, next mcpserver.Handler) (any, error) {
	u, s := g.ownerOf(r, uri), subscription{r.Session(), uri}
	if u == nil || s.session == nil || g.resourceSubscriptions.has(s) {
		return next(ctx, r)
	}
	w, stop := u.watch(r, uri)
	if w == nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "resources/subscribe: %d resources of upstream %q are watched already", maxWatches, u.Key)
	}
	result, err := next(ctx, r)
	if err == nil {
		err = subscribeError(r, u, w.waitEstablished(ctx))
	}
	if err != nil {
		stop()
		return nil, err
	}
	g.resourceSubscriptions.add(s, stop)
	return result, nil
}

// subscribeError returns the error of resources/subscribe for an upstream that refuses.
func subscribeError(r *mcpserver.Request, u *upstream, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*mcp.Error](u.translateError(r, err)); ok {
		return e
	}
	return mcp.Errorf(mcp.CodeInvalidParams, "resources/subscribe: upstream %q: %v", u.Key, err)
}

// ownerOf returns the upstream that has a resource for the sender of a request, by its URI or by
// a template that may match, or nil.
func (g *Gateway) ownerOf(r *mcpserver.Request, uri string) *upstream {
	if u := g.merger.owner(uri); u != nil {
		return u
	}
	all := g.list()
	own := make([][]*catalog, len(all))
	for i, u := range all {
		own[i] = u.callerCatalogs(callerOf(r))
		if slices.ContainsFunc(own[i], func(c *catalog) bool { return c.hasResource(uri) }) {
			return u
		}
	}
	for i, u := range all {
		if slices.ContainsFunc(append(own[i], u.visibleCatalog()), func(c *catalog) bool { return c.mayServe(uri) }) {
			return u
		}
	}
	return nil
}

func (c *catalog) hasResource(uri string) bool {
	return slices.ContainsFunc(c.resources, func(r mcp.Resource) bool { return r.URI == uri })
}

// mayServe reports whether a template may match a URI.
func (c *catalog) mayServe(uri string) bool {
	return slices.ContainsFunc(c.templates, func(t mcp.ResourceTemplate) bool {
		literal, _, _ := strings.Cut(t.URITemplate, "{")
		return strings.HasPrefix(uri, literal)
	})
}

// subscriptions are the resource subscriptions of sessions.
type subscriptions struct {
	mu    sync.Mutex
	stops map[*mcpserver.Session]map[string]func() // guarded by mu: by URI
}

// subscription is one resource to which a session is subscribed.
type subscription struct {
	session *mcpserver.Session
	uri     string
}

func (s *subscriptions) has(id subscription) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stops[id.session][id.uri] != nil
}

// add keeps a subscription until end or the end of its session.
func (s *subscriptions) add(id subscription, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stops == nil {
		s.stops = make(map[*mcpserver.Session]map[string]func())
	}
	if s.stops[id.session] == nil {
		s.stops[id.session] = make(map[string]func())
	}
	stop := context.AfterFunc(id.session.Context(), func() { s.end(id) })
	s.stops[id.session][id.uri] = func() {
		stop()
		leave()
	}
}

func (s *subscriptions) end(id subscription) {
	s.mu.Lock()
	uris := s.stops[id.session]
	stop := uris[id.uri]
	delete(uris, id.uri)
	if len(uris) == 0 {
		delete(s.stops, id.session)
	}
	s.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// endAll ends the subscriptions of a session.
func (s *subscriptions) endAll(session *mcpserver.Session) {
	s.mu.Lock()
	uris := s.stops[session]
	delete(s.stops, session)
	s.mu.Unlock()
	for _, stop := range uris {
		stop()
	}
}
