package mcpclient

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpclient"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

const (
	// listenGrace is how long Connect waits for the subscription to lists.
	listenGrace = 5 * time.Second
	// unsubscribeTimeout bounds the goodbye to a resource.
	unsubscribeTimeout = 5 * time.Second
)

// subscription is a wish to hear of changes. It is put in place again on every
// new connection, in the form of its era: as resources/subscribe for each URI,
// or as one subscriptions/listen that stays open.
type subscription struct {
	filter mcp.SubscriptionFilter
	// placed is called each time when it is in place. After the first time there
	// was a while without it, in which changes may have gone unheard; lost says
	// why and is nil at first.
	placed func(lost error)
}

// follow keeps a subscription in place until ctx ends or the server refuses it.
func (c *Client) follow(ctx context.Context, s *subscription) error {
	var lost error // why it is no longer in place, once it was
	for failures := 1; ; failures++ {
		began, held := time.Now(), false
		k, err := c.live(ctx)
		if err == nil {
			err = k.place(ctx, s, func() {
				s.placed(lost)
				held = true
			})
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case isFinal(err) && !(isPassing(err) && (held || lost != nil)):
			return withPublicErrors(err)
		case held:
			lost = err
		}
		if held && time.Since(began) > window {
			failures = 1
		}
		if err := sleep(ctx, backoff(failures)); err != nil {
			return err
		}
	}
}

// isPassing reports an answer of a server that is in trouble, such as one that is
// being shut down. One that has taken the subscription before may take it again.
func isPassing(err error) bool { return answered(err) && mcp.CodeOf(err) == mcp.CodeInternal }

// isFinal reports whether it is of no use to try a subscription again.
func isFinal(err error) bool {
	_, lost := errors.AsType[*LostError](err)
	if lost && !errors.Is(err, errParked) || errors.Is(err, ErrClosed) || errors.Is(err, errUnoffered) || answered(err) {
		return true
	}
	e, ok := errors.AsType[*httpclient.StatusError](err)
	return ok && e.Status < 500 && e.Status != http.StatusTooManyRequests
}

// place puts the subscription in place and returns when it has ended.
func (k *connection) place(ctx context.Context, s *subscription, placed func()) error {
	filter, err := k.offered(s.filter)
	if err != nil {
		return err
	}
	if k.stateless() && !isEmpty(filter) {
		return k.listen(ctx, filter, placed)
	}
	subscribed, err := k.subscribe(ctx, filter.ResourceSubscriptions)
	defer k.unsubscribe(ctx, subscribed)
	if err != nil {
		return err
	}
	placed()
	select {
	case <-k.link.Done():
		return k.link.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// offered returns what the server promises to tell of a filter. Lists are left
// out in silence; resources are what somebody waits for.
func (k *connection) offered(filter mcp.SubscriptionFilter) (mcp.SubscriptionFilter, error) {
	caps := k.agreed.Load().capabilities
	if len(filter.ResourceSubscriptions) > 0 && (caps.Resources == nil || !caps.Resources.Subscribe) {
		return filter, errUnoffered
	}
	filter.ToolsListChanged = filter.ToolsListChanged && caps.Tools != nil && caps.Tools.ListChanged
	filter.PromptsListChanged = filter.PromptsListChanged && caps.Prompts != nil && caps.Prompts.ListChanged
	filter.ResourcesListChanged = filter.ResourcesListChanged && caps.Resources != nil && caps.Resources.ListChanged
	return filter, nil
}

func isEmpty(f mcp.SubscriptionFilter) bool {
	return !f.ToolsListChanged && !f.PromptsListChanged && !f.ResourcesListChanged && len(f.ResourceSubscriptions) == 0
}

// subscribe subscribes to resources in a session. A resource that several
// watch is subscribed to once.
//
// Spec: 2025-11-25 server/resources#subscriptions
func (k *connection) subscribe(ctx context.Context, uris []string) (done []string, err error) {
	err = k.inTurn(ctx, func() error {
		for i, uri := range uris {
			if k.subscribed[uri] == 0 {
				if err := k.ask(ctx, mcp.MethodResourcesSubscribe, &mcp.SubscribeParams{URI: uri}); err != nil {
					return fmt.Errorf("subscribe to %q: %w", uri, err)
				}
			}
			k.subscribed[uri]++
			done = uris[:i+1]
		}
		return nil
	})
	return done, err
}

// unsubscribe undoes subscribe. The context may have ended.
func (k *connection) unsubscribe(ctx context.Context, uris []string) {
	if len(uris) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unsubscribeTimeout)
	defer cancel()
	_ = k.inTurn(ctx, func() error {
		for _, uri := range uris {
			if k.subscribed[uri]--; k.subscribed[uri] > 0 {
				continue
			}
			delete(k.subscribed, uri)
			if k.link.Err() == nil {
				_ = k.ask(ctx, mcp.MethodResourcesUnsubscribe, &mcp.SubscribeParams{URI: uri})
			}
		}
		return nil
	})
}

// inTurn runs f while no other changes the subscriptions of the session, so that
// the server hears the changes in the order in which they were made.
func (k *connection) inTurn(ctx context.Context, f func() error) error {
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
		return f()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var (
	// errEnded: the server ended the subscription in an orderly way.
	errEnded = errors.New("the server has ended the subscription")
	// errUnoffered: the server did not declare the capability.
	errUnoffered = errors.New("the server does not tell of changes of resources")
)

// listen opens a subscription of the stateless era and returns when it has
// ended. Nothing counts before the server has acknowledged it.
//
// Spec: 2026-07-28 basic/utilities/subscriptions
func (k *connection) listen(ctx context.Context, filter mcp.SubscriptionFilter, placed func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if limit := k.client.opts.initTimeout(); limit > 0 {
		late := exchange.AfterFunc(limit, func() { cancel(fmt.Errorf("subscription not acknowledged within %v", limit)) })
		defer late.Stop()
		ctx = exchange.WithClock(ctx, late)
		acknowledged := placed
		placed = func() { late.Stop(); acknowledged() }
	}
	placed = sync.OnceFunc(placed) // a server may acknowledge as often as it likes
	d := k.dialect()
	req, err := k.encode(mcp.MethodListen, &mcp.ListenParams{Notifications: filter})
	if err != nil {
		return err
	}
	m, err := k.link.Call(ctx, exchange.Outbound{Message: req, Caller: &listener{k, ctx, cancel, filter, placed}})
	if err != nil {
		return err
	}
	if m.Error != nil {
		return d.Error(m.Error)
	}
	return errEnded
}

// listener is a subscription of the stateless era that is open.
type listener struct {
	over   *connection
	ctx    context.Context // ends with the subscription
	end    context.CancelCauseFunc
	filter mcp.SubscriptionFilter
	placed func() // told when the server has acknowledged it
}

var _ exchange.Caller = (*listener)(nil)

// Hear implements exchange.Caller.
func (l *listener) Hear(m jsonrpc.Message) {
	switch m.Method {
	case mcp.NotificationAcknowledged:
		var p mcp.AcknowledgedParams
		if err := json.Unmarshal(m.Params, &p); err != nil {
			l.end(fmt.Errorf("invalid acknowledgement: %w", err))
			return
		}
		if err := l.over.compare(l.filter, p.Notifications); err != nil {
			l.end(err)
			return
		}
		l.placed()
	case mcp.NotificationCancelled:
		l.end(errEnded)
	default:
		l.over.hear(m)
	}
}

// Cancel implements exchange.Caller.
func (l *listener) Cancel(id jsonrpc.ID) []byte {
	if context.Cause(l.ctx) == errEnded { // the server has said so itself
		return nil
	}
	return l.over.dialect().Cancel(id, "")
}

// compare looks at what of a subscription the server does not honour. Somebody
// waits for a resource, so that is an error; lists are a courtesy.
func (k *connection) compare(wanted, honoured mcp.SubscriptionFilter) error {
	for _, uri := range wanted.ResourceSubscriptions {
		if !slices.Contains(honoured.ResourceSubscriptions, uri) {
			return fmt.Errorf("resource %q: %w", uri, errUnoffered)
		}
	}
	if wanted.ToolsListChanged && !honoured.ToolsListChanged ||
		wanted.PromptsListChanged && !honoured.PromptsListChanged ||
		wanted.ResourcesListChanged && !honoured.ResourcesListChanged {
		k.client.opts.logger().Info("the server does not tell of changes of every list")
	}
	return nil
}

// followLists subscribes to the changes of the lists that have a handler and,
// because a change between Connect and the first listing would go unheard, waits
// a little for the subscription.
func (c *Client) followLists(ctx context.Context) {
	s := &subscription{filter: mcp.SubscriptionFilter{
		ToolsListChanged:     c.opts.OnToolsChanged != nil,
		PromptsListChanged:   c.opts.OnPromptsChanged != nil,
		ResourcesListChanged: c.opts.OnResourcesChanged != nil,
	}}
	if isEmpty(s.filter) {
		return
	}
	ready := make(chan struct{})
	s.placed = func(lost error) {
		if lost != nil {
			c.missed(lost)
			return
		}
		close(ready)
	}
	ended := make(chan struct{})
	c.begin(func() {
		defer close(ended)
		if err := c.follow(c.ctx, s); c.ctx.Err() == nil {
			c.opts.logger().Warn("the server does not tell of changes of its lists", "error", err)
		}
	})
	grace := time.NewTimer(listenGrace)
	defer grace.Stop()
	select {
	case <-ready:
	case <-ended:
	case <-grace.C:
	case <-ctx.Done():
	}
}
