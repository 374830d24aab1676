package mcpserver

import (
	"context"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// maxWatched bounds the resources that one session or one listen request watches.
const maxWatched = 1024

// Updated tells every subscriber, of either era, that the resource at uri has
// changed. Subscribers of a parent, such as notes://a of notes://a/b, hear of it
// too when it is a resource that they may read. It does not wait for them.
func (s *Server) Updated(uri string) { s.hub.updated(uri) }

// subscribe does resources/subscribe of the session era.
//
// Spec: 2025-11-25 server/resources#subscriptions
func (s *Server) subscribe(_ context.Context, r *Request) (any, error) {
	return nil, s.watch(r, func(sub *subscriber, uri string) error {
		if s.features.snapshot().resourceAt(uri, r.Principal()) == nil {
			return notFound(uri)
		}
		if !sub.watch(uri) {
			return mcp.Errorf(mcp.CodeInvalidParams, "resources/subscribe: this session watches %d resources already; want some unsubscribed", maxWatched)
		}
		return nil
	})
}

// unsubscribe does resources/unsubscribe. What is not watched is no error.
func (s *Server) unsubscribe(_ context.Context, r *Request) (any, error) {
	return nil, s.watch(r, func(sub *subscriber, uri string) error {
		sub.unwatch(uri)
		return nil
	})
}

func (s *Server) watch(r *Request, change func(*subscriber, string) error) error {
	if !s.features.snapshot().hasResources() {
		return undeclared(r.Method)
	}
	var p mcp.SubscribeParams
	if err := r.Decode(&p); err != nil {
		return err
	}
	sub := s.hub.join(r.in.Session)
	if sub == nil {
		return mcp.Errorf(mcp.CodeInvalidRequest, "%s: the session has ended", r.Method)
	}
	return change(sub, p.URI)
}

// listen does subscriptions/listen: one long answer that carries what the client
// asked to hear of, after saying which of it that is.
//
// Spec: 2026-07-28 basic/utilities/subscriptions
func (s *Server) listen(ctx context.Context, r *Request) (any, error) {
	var p mcp.ListenParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	open, end := context.WithCancelCause(ctx)
	defer end(nil)
	filter, err := s.honour(p.Notifications, r)
	if err != nil {
		return nil, err
	}
	feeds, err := s.openFeeds(open, r, p.Notifications.Extra, &filter)
	if err != nil {
		return nil, err
	}
	sub := newSubscriber(r.Principal(), filter, func(ctx context.Context, e event) error {
		msg, err := r.call.Subscribed(e.method, e.params())
		if err != nil {
			return err
		}
		return r.in.Back.Send(ctx, msg)
	})
	s.hub.add(sub) // before it is acknowledged, so that nothing after that is missed
	defer s.hub.remove(sub)
	if err := sub.deliver(ctx, event{method: mcp.NotificationAcknowledged, filter: &filter}); err != nil {
		return nil, err
	}
	stop := r.runFeeds(open, feeds, end)
	err = sub.serve(open, s.drain.begun())
	stop()
	if err != nil {
		return nil, err
	}
	if r.in.Binding != dialect.Streamable {
		_ = r.in.Back.Send(ctx, r.call.SubscriptionCancelled())
	}
	return r.call.SubscriptionEnd(), nil
}

// honour returns the part of a filter that the server can serve.
func (s *Server) honour(f mcp.SubscriptionFilter, r *Request) (mcp.SubscriptionFilter, error) {
	snap := s.features.snapshot()
	if len(f.ResourceSubscriptions) > maxWatched {
		return f, mcp.Errorf(mcp.CodeInvalidParams, "%s: resourceSubscriptions: %d entries, want at most %d", r.Method, len(f.ResourceSubscriptions), maxWatched)
	}
	if !snap.hasResources() && !snap.declared[kindTools] && !snap.declared[kindPrompts] && len(f.Extra) == 0 {
		return f, undeclared(r.Method)
	}
	honoured := mcp.SubscriptionFilter{
		ToolsListChanged:     f.ToolsListChanged && snap.declared[kindTools],
		PromptsListChanged:   f.PromptsListChanged && snap.declared[kindPrompts],
		ResourcesListChanged: f.ResourcesListChanged && snap.hasResources(),
	}
	for _, uri := range f.ResourceSubscriptions {
		if snap.resourceAt(uri, r.Principal()) != nil {
			honoured.ResourceSubscriptions = append(honoured.ResourceSubscriptions, uri)
		}
	}
	return honoured, nil
}
