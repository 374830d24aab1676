package mcpserver

import (
	"context"
	"errors"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/changes"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/internal/registry"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// Updated sends notifications/resources/updated for the resource at uri to all of its
// subscribers, of both eras and on all replicas that share Options.Bus. Subscribers of a
// parent, such as notes://a for notes://a/b, get it too if they may read the resource. Of
// several changes within 50 ms a subscriber is sent the first and the last. Updated does
// not wait for the subscribers. It is safe for concurrent use.
func (s *Server) Updated(uri string) { s.hub.Updated(uri) }

// Updated sends notifications/resources/updated for the resource at uri to a single
// subscriber: the one that made the request r, which is resources/subscribe or
// subscriptions/listen, in middleware. Nothing is sent if the subscriber has subscribed
// neither to uri nor to a parent of it. Use it instead of [Server.Updated] for resources
// whose contents differ between clients. It does not wait for the client. In a session it
// may be called after the request was answered. It does nothing when r is nil or is another
// request, nor in a session whose client another replica notifies (Options.Store and Bus).
func (r *Request) Updated(uri string) {
	if r == nil {
		return
	}
	if sub := r.subscriber.Load(); sub != nil {
		r.server.hub.UpdatedFor(sub, uri)
	}
}

// subscribe handles resources/subscribe of the session era.
//
// Spec: 2025-11-25 server/resources#subscriptions
func (s *Server) subscribe(ctx context.Context, r *Request) (any, error) {
	return nil, s.changeSubscription(r, func(sub *changes.Subscriber, uri string) error {
		f := resourceFor(s.features.Snapshot(), r, uri)
		if f == nil {
			return notFound(uri)
		}
		if err := r.RequireScopes(f.Scopes...); err != nil {
			return err
		}
		if sub != nil {
			s.hub.AwaitBus(ctx)
			if err := s.hub.Subscribe(sub, []changes.Topic{changes.ResourceTopic(uri)}, 0); err != nil {
				return r.subscriptionError(err)
			}
		}
		if shared := r.in.Session.Shared; shared != nil {
			return shared.Subscribe(ctx, uri)
		}
		return nil
	})
}

// subscriptionError returns the error of a request whose subscription the hub has refused
// or ended.
func (r *Request) subscriptionError(err error) error {
	switch {
	case errors.Is(err, changes.ErrRemoved):
		return mcp.Errorf(mcp.CodeInvalidRequest, "%s: the session has ended", r.method)
	case errors.Is(err, changes.ErrTooMany):
		r.ReportLimit(mcp.LimitWatched)
		return mcp.Errorf(mcp.CodeInvalidParams, "%s: a session or subscription has at most %d resources, with at most %d bytes of URIs; unsubscribe from some first", r.method, changes.MaxResources, changes.MaxResourceBytes)
	case errors.Is(err, changes.ErrEvicted): // which was reported
		return mcp.PeerRetryLaterf(mcp.CodeOverloaded, retryWhole, "%s: ended to make room for another client: the server has reached its limit of subscriptions to resources", r.method)
	case errors.Is(err, limit.ErrOwnerFull):
		r.ReportLimit(mcp.LimitWatched)
		return mcp.PeerRetryLaterf(mcp.CodeRateLimited, retryWhole, "%s: you have reached the limit of one client's subscriptions to resources; unsubscribe from some first", r.method)
	case errors.Is(err, limit.ErrPoolFull):
		r.ReportLimit(mcp.LimitWatched)
		return mcp.PeerRetryLaterf(mcp.CodeOverloaded, retryWhole, "%s: the server has reached its limit of subscriptions to resources", r.method)
	}
	return err
}

// unsubscribe handles resources/unsubscribe. It is no error if there is no subscription.
func (s *Server) unsubscribe(ctx context.Context, r *Request) (any, error) {
	return nil, s.changeSubscription(r, func(sub *changes.Subscriber, uri string) error {
		if shared := r.in.Session.Shared; shared != nil {
			return shared.Unsubscribe(ctx, uri)
		}
		s.hub.Unsubscribe(sub, changes.ResourceTopic(uri))
		return nil
	})
}

// changeSubscription calls change with the subscriber of the session, which is nil if another
// process notifies the client, and the URI of the request.
func (s *Server) changeSubscription(r *Request, change func(*changes.Subscriber, string) error) error {
	if !s.features.Snapshot().Offers(registry.Resources) {
		return undeclared(r.method)
	}
	var p mcp.SubscribeParams
	if err := r.Decode(&p); err != nil {
		return err
	}
	if err := r.needSession(); err != nil {
		return err
	}
	if !r.in.Session.Notifies() {
		return change(nil, p.URI)
	}
	s.hub.AddSession(r.in.Session, r.call.Session)
	sub := s.hub.Session(r.in.Session, r.call.Session)
	if sub == nil {
		return mcp.Errorf(mcp.CodeInvalidRequest, "%s: the session has ended, or the client was initialized again", r.method)
	}
	r.subscriber.Store(sub)
	return change(sub, p.URI)
}

// listen handles subscriptions/listen: a long-lived response that begins with an
// acknowledgement of the accepted filter and continues with the notifications that the
// client asked for. It ends with a result when the server shuts down or the credentials of
// its sender expire.
//
// Spec: 2026-07-28 basic/utilities/subscriptions
func (s *Server) listen(ctx context.Context, r *Request) (any, error) {
	open := lazyctx.New(ctx, nil)
	defer open.Cancel(nil)
	sub := changes.NewSubscriber(requestListener{r}, r.owner())
	defer s.hub.Remove(sub)
	var feeds []feed
	var kept *limit.Place
	defer func() { kept.Release() }()
	err := runOnTemporaryStack(func() (err error) {
		feeds, kept, err = s.openSubscription(open, r, sub)
		return err
	})
	if err != nil {
		return nil, err
	}
	stop := func() {}
	switch {
	case len(feeds) > 0:
		ctx, stop = open, r.startFeeds(open, feeds)
	case ctx == (*handlerContext)(r):
		ctx = r.ctx // the context of the handlers never ends earlier, and waiting on r.ctx costs less
	}
	valid, forget := exchange.WhileValid(s.open, r.Identity())
	defer forget()
	err = sub.Serve(ctx, valid.Done(), r.in.Draining)
	stop()
	if err != nil {
		return nil, r.subscriptionError(err)
	}
	if r.in.Binding != dialect.Streamable {
		_ = r.in.BackChannel.Send(ctx, r.call.SubscriptionCancelled())
	}
	return r.call.SubscriptionEnd(), nil
}

// requestListener sends changes to a listen request.
type requestListener struct{ *Request }

// Client implements changes.Listener.
func (r requestListener) Client() (mcp.Revision, *mcp.ClientCapabilities) {
	return r.Revision(), r.call.Capabilities
}

// Deliver implements changes.Listener.
func (r requestListener) Deliver(ctx context.Context, e *changes.Event) error {
	a, err := e.In(r.call.Facts)
	if err != nil {
		return err
	}
	return r.sendAnnouncement(ctx, a)
}

// releaseParams frees the params of a long-lived request, which can be as large as a
// message.
func (r *Request) releaseParams() {
	r.in.Message.Params = nil
	r.call.ReleaseMessage()
}

// runOnTemporaryStack runs f on its own goroutine and waits for it. The stack of that
// goroutine is freed when f returns. On the goroutine of a subscription, of which there are
// thousands, the grown stack would stay as long as the subscription.
func runOnTemporaryStack(f func() error) error {
	done := make(chan error)
	go func() {
		var err error
		defer func() { done <- err }()
		defer usercode.Contain(&err)
		err = f()
	}()
	return <-done
}

// openSubscription registers the subscriber and sends the acknowledgement. The feeds that
// it returns are valid until ctx ends. kept is the place of what the request has besides its
// params, also if openSubscription fails.
func (s *Server) openSubscription(ctx context.Context, r *Request, sub *changes.Subscriber) (feeds []feed, kept *limit.Place, err error) {
	var p mcp.ListenParams
	if err := r.Decode(&p); err != nil {
		return nil, nil, err
	}
	filter, err := s.supportedFilter(p.Notifications, r)
	if err != nil {
		return nil, nil, err
	}
	feeds, err = s.openFeeds(ctx, r, p.Notifications.Extra, &filter)
	if err != nil {
		return nil, nil, err
	}
	r.releaseParams()
	kept, err = r.keep(r.call.Size(), sub.Fail)
	if err != nil {
		return nil, nil, err
	}
	r.subscriber.Store(sub)
	s.hub.AwaitBus(ctx)
	// Before it is acknowledged, so that nothing after that is missed.
	if err := s.hub.Subscribe(sub, changes.Topics(filter), len(filter.Extra)); err != nil {
		return nil, kept, r.subscriptionError(err)
	}
	return feeds, kept, r.sendSubscribed(ctx, mcp.NotificationAcknowledged, &mcp.AcknowledgedParams{Notifications: filter})
}

// supportedFilter returns the part of a filter that the server can serve to the sender.
func (s *Server) supportedFilter(f mcp.SubscriptionFilter, r *Request) (mcp.SubscriptionFilter, error) {
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
		if f := resourceFor(snap, r, uri); f != nil && registry.Granted(r.Identity(), f.Scopes) {
			honoured.ResourceSubscriptions = append(honoured.ResourceSubscriptions, uri)
		}
	}
	return honoured, nil
}
