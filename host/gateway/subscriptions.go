package gateway

import (
	"context"
	"sync"

	"github.com/fondaco/fondaco/host/gateway/relay"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// subscriptions are the resource subscriptions of sessions.
type subscriptions struct {
	gateway *Gateway

	mu    sync.Mutex
	stops map[*mcpserver.Session]map[string]func() // guarded by mu: by URI
}

// subscription is one resource to which a session is subscribed.
type subscription struct {
	session *mcpserver.Session
	uri     string
}

// watchSubscribed is middleware that watches a resource at its upstream while a client
// is subscribed: in the session era from resources/subscribe to resources/unsubscribe,
// another initialize or the end of the session, in the stateless era during
// subscriptions/listen.
func (s *subscriptions) watchSubscribed(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		switch r.Method() {
		case mcp.MethodInitialize:
			result, err := next(ctx, r)
			if err == nil {
				s.endAll(r.Session())
			}
			return result, err
		case mcp.MethodListen:
			var p mcp.ListenParams
			if r.Decode(&p) == nil {
				uris := p.Notifications.ResourceSubscriptions
				defer s.watchAll(ctx, r, uris[:min(len(uris), relay.MaxWatches)])()
			}
		case mcp.MethodResourcesSubscribe:
			var p mcp.SubscribeParams
			if r.Decode(&p) == nil {
				return s.subscribe(ctx, r, p.URI, next)
			}
		case mcp.MethodResourcesUnsubscribe:
			var p mcp.SubscribeParams
			if r.Decode(&p) == nil {
				s.end(subscription{r.Session(), p.URI})
			}
		}
		return next(ctx, r)
	}
}

// watchAll watches resources for subscriptions/listen until stop is called. Resources
// whose upstream refuses are left out. The server refuses a listen with more resources than
// relay.MaxWatches.
func (s *subscriptions) watchAll(ctx context.Context, r *mcpserver.Request, uris []string) (stop func()) {
	var watches []*relay.Watch
	var stops []func()
	for _, uri := range uris {
		if u, owner := s.gateway.resourceOwner(ctx, r, uri); u != nil {
			w, stop := u.relay.Watch(ctx, r, owner.URI, uri)
			watches, stops = append(watches, w), append(stops, stop)
		}
	}
	for _, w := range watches {
		if w != nil {
			_ = w.WaitEstablished(ctx)
		}
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// subscribe watches a resource for a session. It fails if the upstream refuses.
func (s *subscriptions) subscribe(ctx context.Context, r *mcpserver.Request, uri string, next mcpserver.Handler) (any, error) {
	u, owner := s.gateway.resourceOwner(ctx, r, uri)
	id := subscription{r.Session(), uri}
	switch {
	case u == nil:
		return nil, resourceNotFound(uri)
	case id.session == nil, s.has(id):
		return next(ctx, r)
	}
	w, stop := u.relay.Watch(ctx, r, owner.URI, uri)
	if w == nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "resources/subscribe: %d resources of upstream %q are watched already", relay.MaxWatches, u.Key)
	}
	result, err := next(ctx, r)
	if err == nil {
		err = u.relay.CallerError(r, w.WaitEstablished(ctx))
	}
	if err != nil {
		stop()
		return nil, err
	}
	if !s.add(id, stop) {
		stop()
	}
	return result, nil
}

func (s *subscriptions) has(id subscription) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stops[id.session][id.uri] != nil
}

// add keeps a subscription until end or the end of its session. It reports false, and does nothing,
// if another request has added it meanwhile.
func (s *subscriptions) add(id subscription, leave func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stops == nil {
		s.stops = make(map[*mcpserver.Session]map[string]func())
	}
	if s.stops[id.session] == nil {
		s.stops[id.session] = make(map[string]func())
	}
	if s.stops[id.session][id.uri] != nil {
		return false
	}
	stop := context.AfterFunc(id.session.Context(), func() { s.end(id) })
	s.stops[id.session][id.uri] = func() {
		stop()
		leave()
	}
	return true
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
