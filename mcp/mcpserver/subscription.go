package mcpserver

import (
	"context"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/changes"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
	"github.com/fondaco/fondaco/mcp/internal/registry"
)

// Updated tells every subscriber, of either era and on all replicas that share
// Options.Bus, that the resource at uri has changed. Subscribers of a parent, such
// as notes://a of notes://a/b, hear of it too when it is a resource that they may
// read. It does not wait for them. Of many changes of one resource within 50 ms
// each of them hears of the first and the last.
func (s *Server) Updated(uri string) { s.hub.Updated(uri) }

// Updated tells the one subscriber that r made, or added a resource to, that the
// resource at uri has changed: r is a request of resources/subscribe or
// subscriptions/listen, as middleware sees it. Of a resource that is not, or no
// longer, subscribed to nobody hears. It does not wait, and may be called after
// the request of a session has been answered. For resources that are not the
// same for everybody this takes the place of Server.Updated.
func (r *Request) Updated(uri string) {
	if r == nil {
		return
	}
	if sub := r.watching.Load(); sub != nil {
		r.server.hub.UpdatedFor(sub, uri)
	}
}

// subscribe does resources/subscribe of the session era.
//
// Spec: 2025-11-25 server/resources#subscriptions
func (s *Server) subscribe(ctx context.Context, r *Request) (any, error) {
	return nil, s.watch(r, func(sub *changes.Subscriber, uri string) error {
		f := resourceAt(s.features.Snapshot(), uri, r.Identity())
		if f == nil {
			return notFound(uri)
		}
		if err := r.RequireScopes(f.Scopes...); err != nil {
			return err
		}
		s.hub.AwaitBus(ctx)
		if !s.hub.Subscribe(sub, changes.ResourceTopic(uri)) {
			r.ReportLimit(mcp.LimitWatched)
			return mcp.Errorf(mcp.CodeInvalidParams, "resources/subscribe: this session watches as many resources as it may: %d, with URIs of %d bytes in all; want some unsubscribed", changes.MaxResources, changes.MaxResourceBytes)
		}
		return nil
	})
}

// unsubscribe does resources/unsubscribe. What is not watched is no error.
func (s *Server) unsubscribe(_ context.Context, r *Request) (any, error) {
	return nil, s.watch(r, func(sub *changes.Subscriber, uri string) error {
		s.hub.Unsubscribe(sub, changes.ResourceTopic(uri))
		return nil
	})
}

func (s *Server) watch(r *Request, change func(*changes.Subscriber, string) error) error {
	if !s.features.Snapshot().Offers(registry.Resources) {
		return undeclared(r.method)
	}
	var p mcp.SubscribeParams
	if err := r.Decode(&p); err != nil {
		return err
	}
	s.hub.AddSession(r.in.Session)
	sub := s.hub.Session(r.in.Session)
	if sub == nil {
		return mcp.Errorf(mcp.CodeInvalidRequest, "%s: the session has ended", r.method)
	}
	r.watching.Store(sub)
	return change(sub, p.URI)
}

// listen does subscriptions/listen: one long answer that carries what the client
// asked to hear of, after saying which of it that is. It ends with its result when
// the server shuts down or the credentials of its sender expire.
//
// Spec: 2026-07-28 basic/utilities/subscriptions
func (s *Server) listen(ctx context.Context, r *Request) (any, error) {
	open := lazyctx.New(ctx, nil)
	defer open.Cancel(nil)
	sub := changes.NewSubscriber(requestListener{r})
	defer s.hub.Remove(sub)
	var feeds []feed
	err := aside(func() (err error) {
		feeds, err = s.accept(open, r, sub)
		return err
	})
	if err != nil {
		return nil, err
	}
	stop := func() {}
	switch {
	case len(feeds) > 0:
		ctx, stop = open, r.runFeeds(open, feeds)
	case ctx == &r.handlers:
		ctx = r.ctx // by which alone the run of a subscription ends
	}
	valid, forget := exchange.WhileValid(s.open, r.Identity())
	defer forget()
	err = sub.Serve(ctx, valid.Done(), r.in.Leaving)
	stop()
	if err != nil {
		return nil, err
	}
	if r.in.Binding != dialect.Streamable {
		_ = r.in.Back.Send(ctx, r.call.SubscriptionCancelled())
	}
	return r.call.SubscriptionEnd(), nil
}

// requestListener sends changes to a listen request.
type requestListener struct{ *Request }

// Deliver implements changes.Listener.
func (r requestListener) Deliver(ctx context.Context, e *changes.Event) error {
	a, err := e.In(r.call.Facts)
	if err != nil {
		return err
	}
	return r.sendAnnouncement(ctx, a)
}

// letGo drops the params of a request that lasts. They can be as large as a message.
func (r *Request) letGo() {
	r.params, r.in.Message.Params = nil, nil
	r.call.ReleaseMessage()
}

// aside runs f on a goroutine of its own and waits for it. The stack that f needs is
// free again when it returns, where that of a goroutine that then waits for long, as
// thousands of subscriptions do, would stay.
func aside(f func() error) error {
	done := make(chan error)
	go func() {
		var err error
		defer func() { done <- err }()
		defer contain(&err)
		err = f()
	}()
	return <-done
}

// accept begins a subscription and acknowledges it. Feeds are open for as long as the
// context is.
func (s *Server) accept(ctx context.Context, r *Request, sub *changes.Subscriber) ([]feed, error) {
	var p mcp.ListenParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	filter, err := s.honour(p.Notifications, r)
	if err != nil {
		return nil, err
	}
	feeds, err := s.openFeeds(ctx, r, p.Notifications.Extra, &filter)
	if err != nil {
		return nil, err
	}
	r.letGo()
	r.watching.Store(sub)
	s.hub.AwaitBus(ctx)
	for _, t := range changes.Topics(filter) { // before it is acknowledged, so that nothing after that is missed
		if !s.hub.Subscribe(sub, t) {
			r.ReportLimit(mcp.LimitWatched)
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: resourceSubscriptions: want URIs of at most %d bytes in all", r.method, changes.MaxResourceBytes)
		}
	}
	return feeds, r.sendSubscribed(ctx, mcp.NotificationAcknowledged, &mcp.AcknowledgedParams{Notifications: filter})
}

// honour returns the part of a filter that the server can serve.
func (s *Server) honour(f mcp.SubscriptionFilter, r *Request) (mcp.SubscriptionFilter, error) {
	snap := s.features.Snapshot()
	if len(f.ResourceSubscriptions) > changes.MaxResources {
		return f, mcp.Errorf(mcp.CodeInvalidParams, "%s: resourceSubscriptions: %d entries, want at most %d", r.method, len(f.ResourceSubscriptions), changes.MaxResources)
	}
	if !snap.Offers(registry.Resources) && !snap.Offers(registry.Tools) && !snap.Offers(registry.Prompts) && len(f.Extra) == 0 {
		return f, undeclared(r.method)
	}
	honoured := mcp.SubscriptionFilter{
		ToolsListChanged:     f.ToolsListChanged && snap.Offers(registry.Tools),
		PromptsListChanged:   f.PromptsListChanged && snap.Offers(registry.Prompts),
		ResourcesListChanged: f.ResourcesListChanged && snap.Offers(registry.Resources),
	}
	for _, uri := range f.ResourceSubscriptions {
		if mayRead(snap, uri, r.Identity()) {
			honoured.ResourceSubscriptions = append(honoured.ResourceSubscriptions, uri)
		}
	}
	return honoured, nil
}
