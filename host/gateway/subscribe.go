package gateway

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// relayWatches is middleware that has a resource watched at its upstream as long
// as a client is subscribed to it: in the session era from resources/subscribe to
// resources/unsubscribe or the end of the session, in the stateless era as long
// as subscriptions/listen lasts.
func (g *Gateway) relayWatches(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		switch r.Method {
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
				g.subscribed.end(subscription{r.Session(), p.URI})
			}
		}
		return next(ctx, r)
	}
}

// watchAll has resources watched for a listening client until leave is called.
// Those of which the upstream does not tell are left out in silence.
func (g *Gateway) watchAll(ctx context.Context, r *mcpserver.Request, uris []string) (leave func()) {
	var begun []*watch
	var leaves []func()
	for _, uri := range uris {
		if u := g.upstreamOf(uri); u != nil {
			w, leave := u.watch(r, uri)
			begun, leaves = append(begun, w), append(leaves, leave)
		}
	}
	for _, w := range begun {
		if w != nil {
			_ = w.inPlace(ctx)
		}
	}
	return func() {
		for _, leave := range leaves {
			leave()
		}
	}
}

// subscribe has a resource watched for a session, unless its upstream refuses.
func (g *Gateway) subscribe(ctx context.Context, r *mcpserver.Request, uri string, next mcpserver.Handler) (any, error) {
	u, s := g.upstreamOf(uri), subscription{r.Session(), uri}
	if u == nil || s.session == nil || g.subscribed.has(s) {
		return next(ctx, r)
	}
	w, leave := u.watch(r, uri)
	if w == nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "resources/subscribe: %d resources of upstream %q are watched already", maxWatches, u.Key)
	}
	result, err := next(ctx, r)
	if err == nil {
		err = unwatched(r, u, w.inPlace(ctx))
	}
	if err != nil {
		leave()
		return nil, err
	}
	g.subscribed.begin(s, leave)
	return result, nil
}

// unwatched is the error of a subscriber whose upstream does not tell of changes.
func unwatched(r *mcpserver.Request, u *upstream, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*mcp.Error](u.translate(r, err)); ok {
		return e
	}
	return mcp.Errorf(mcp.CodeInvalidParams, "resources/subscribe: upstream %q: %v", u.Key, err)
}

// upstreamOf returns the upstream that has a resource: by its URI, else by a
// template that it may match, or nil.
func (g *Gateway) upstreamOf(uri string) *upstream {
	if u := g.merger.holder(uri); u != nil {
		return u
	}
	for _, u := range g.all() {
		for _, t := range u.present().templates {
			if literal, _, _ := strings.Cut(t.URITemplate, "{"); strings.HasPrefix(uri, literal) {
				return u
			}
		}
	}
	return nil
}

// subscriptions are those of sessions.
type subscriptions struct {
	mu     sync.Mutex
	leaves map[subscription]func() // guarded by mu
}

// subscription is what a session is subscribed to.
type subscription struct {
	session context.Context
	uri     string
}

func (s *subscriptions) has(id subscription) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leaves[id] != nil
}

// begin keeps a subscription until end, or the end of its session.
func (s *subscriptions) begin(id subscription, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaves == nil {
		s.leaves = make(map[subscription]func())
	}
	stop := context.AfterFunc(id.session, func() { s.end(id) })
	s.leaves[id] = func() {
		stop()
		leave()
	}
}

func (s *subscriptions) end(id subscription) {
	s.mu.Lock()
	leave := s.leaves[id]
	delete(s.leaves, id)
	s.mu.Unlock()
	if leave != nil {
		leave()
	}
}
