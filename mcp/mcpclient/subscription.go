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

// listSubscriptionWait bounds how long Connect waits for the subscription to lists.
const listSubscriptionWait = 5 * time.Second

// subscription is a request for notifications of changes. It is renewed on every new
// connection, in the form of its era: one resources/subscribe for each URI, or one
// subscriptions/listen that stays open.
type subscription struct {
	filter mcp.SubscriptionFilter
	// active is called each time the server has acknowledged the subscription. The
	// first time lost is nil. Later it is the reason of the interruption, during which
	// changes may have been missed.
	active func(lost error)
}

// steadyTime is how long a subscription has to last so that it is made again without a longer
// pause: one that ends later has ended with its replica, and another one serves the next.
const steadyTime = time.Second

// keepSubscribed subscribes, and does so again whenever the subscription ends, until ctx
// ends or the server refuses it.
func (c *Client) keepSubscribed(ctx context.Context, s *subscription) error {
	var lost error // why the subscription ended the last time after it was active
	for failures := 1; ; failures++ {
		began, active := time.Now(), false
		k, err := c.currentConnection(ctx)
		if err == nil {
			err = k.subscribeUntilLost(ctx, s, func() {
				s.active(lost)
				active = true
			})
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case k != nil && c.checkPrior(ctx, k, err):
			continue
		case isPermanent(err) && !(isTransient(err) && (active || lost != nil)):
			return withPublicErrors(err)
		case active:
			lost = err
		}
		if active && time.Since(began) > steadyTime {
			failures = 1
		}
		if err := sleep(ctx, reconnectPause(failures)); err != nil {
			return err
		}
	}
}

// isTransient reports whether err is an internal error of the server, such as one during
// its shutdown. A server that accepted the subscription before may accept it again.
func isTransient(err error) bool { return answered(err) && mcp.CodeOf(err) == mcp.CodeInternal }

// isPermanent reports whether not to subscribe again after err.
func isPermanent(err error) bool {
	_, lost := errors.AsType[*LostError](err)
	if lost && !errors.Is(err, errSuspended) || errors.Is(err, ErrClosed) || errors.Is(err, errNotOffered) || answered(err) {
		return true
	}
	e, ok := errors.AsType[*httpclient.StatusError](err)
	return ok && e.Status < 500 && e.Status != http.StatusTooManyRequests
}

// subscribeUntilLost subscribes, calls active when the server has acknowledged the
// subscription, and returns when it has ended.
func (k *connection) subscribeUntilLost(ctx context.Context, s *subscription, active func()) error {
	filter, err := k.offered(s.filter)
	if err != nil {
		return err
	}
	if k.stateless() && !isEmpty(filter) {
		return k.listen(ctx, filter, active)
	}
	subscribed, err := k.resources.subscribe(ctx, filter.ResourceSubscriptions)
	defer k.resources.unsubscribe(subscribed)
	if err != nil {
		return err
	}
	active()
	select {
	case <-k.link.Done():
		return k.link.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// offered returns the part of a filter that the server declares. It fails for
// resources without subscriptions, because a Watch waits for them.
func (k *connection) offered(filter mcp.SubscriptionFilter) (mcp.SubscriptionFilter, error) {
	caps := k.agreed.Load().capabilities
	if len(filter.ResourceSubscriptions) > 0 && (caps.Resources == nil || !caps.Resources.Subscribe) {
		return filter, errNotOffered
	}
	filter.ToolsListChanged = filter.ToolsListChanged && caps.Tools != nil && caps.Tools.ListChanged
	filter.PromptsListChanged = filter.PromptsListChanged && caps.Prompts != nil && caps.Prompts.ListChanged
	filter.ResourcesListChanged = filter.ResourcesListChanged && caps.Resources != nil && caps.Resources.ListChanged
	return filter, nil
}

func isEmpty(f mcp.SubscriptionFilter) bool {
	return !f.ToolsListChanged && !f.PromptsListChanged && !f.ResourcesListChanged && len(f.ResourceSubscriptions) == 0
}

var (
	// errEnded: the server ended the subscription with a response.
	errEnded = errors.New("the server has ended the subscription")
	// errNotOffered: the server did not declare the capability.
	errNotOffered = errors.New("the server sends no notifications of changed resources")
)

// listen opens a subscription of the stateless era and returns when it has ended. The
// subscription is active once the server has acknowledged it.
//
// Spec: 2026-07-28 basic/utilities/subscriptions
func (k *connection) listen(ctx context.Context, filter mcp.SubscriptionFilter, active func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if limit := k.client.opts.connectTimeout(); limit > 0 {
		timer := exchange.AfterFunc(limit, func() { cancel(fmt.Errorf("subscription not acknowledged within %v", limit)) })
		defer timer.Stop()
		ctx = exchange.WithPausable(ctx, timer)
		acknowledged := active
		active = func() { timer.Stop(); acknowledged() }
	}
	active = sync.OnceFunc(active) // a server may acknowledge more than once
	d := k.dialect()
	req, err := k.encode(mcp.MethodListen, &mcp.ListenParams{Notifications: filter})
	if err != nil {
		return err
	}
	m, err := k.link.Call(ctx, exchange.Outbound{Message: req, Caller: &listenCaller{k, ctx, cancel, filter, active}})
	if err != nil {
		return err
	}
	if m.Error != nil {
		return d.Error(m.Error)
	}
	return errEnded
}

// listenCaller is an open subscription of the stateless era.
type listenCaller struct {
	conn   *connection
	ctx    context.Context // ends with the subscription
	end    context.CancelCauseFunc
	filter mcp.SubscriptionFilter
	active func() // called when the server has acknowledged it
}

var _ exchange.Caller = (*listenCaller)(nil)

// Receive implements exchange.Caller.
func (l *listenCaller) Receive(m jsonrpc.Message) {
	switch m.Method {
	case mcp.NotificationAcknowledged:
		var p mcp.AcknowledgedParams
		if err := json.Unmarshal(m.Params, &p); err != nil {
			l.end(fmt.Errorf("invalid acknowledgement: %w", err))
			return
		}
		if err := l.conn.checkAcknowledged(l.filter, p.Notifications); err != nil {
			l.end(err)
			return
		}
		l.conn.confirm()
		l.active()
	case mcp.NotificationCancelled:
		l.end(errEnded)
	default:
		l.conn.receiveNotification(m)
	}
}

// Cancel implements exchange.Caller.
func (l *listenCaller) Cancel(id jsonrpc.ID) []byte {
	if context.Cause(l.ctx) == errEnded { // there is nothing to cancel
		return nil
	}
	return l.conn.dialect().Cancel(id, "")
}

// checkAcknowledged returns an error if the server did not acknowledge a resource,
// because a Watch waits for it. Missing lists are only logged.
func (k *connection) checkAcknowledged(requested, acknowledged mcp.SubscriptionFilter) error {
	for _, uri := range requested.ResourceSubscriptions {
		if !slices.Contains(acknowledged.ResourceSubscriptions, uri) {
			return fmt.Errorf("resource %q: %w", uri, errNotOffered)
		}
	}
	if requested.ToolsListChanged && !acknowledged.ToolsListChanged ||
		requested.PromptsListChanged && !acknowledged.PromptsListChanged ||
		requested.ResourcesListChanged && !acknowledged.ResourcesListChanged {
		k.client.opts.logger().Info("the server does not send notifications for every list")
	}
	return nil
}

// followLists subscribes to changes of the lists that have a handler or pins. It waits up
// to listSubscriptionWait for the acknowledgement, so that no change after Connect is
// missed. With Options.Prior, which makes Connect send nothing, it does not wait.
func (c *Client) followLists(ctx context.Context, wait bool) {
	pins := &c.opts.Pins
	s := &subscription{filter: mcp.SubscriptionFilter{
		ToolsListChanged:     c.opts.OnToolsChanged != nil || len(pins.Tools) > 0 || pins.Server != "",
		PromptsListChanged:   c.opts.OnPromptsChanged != nil || pins.Server != "",
		ResourcesListChanged: c.opts.OnResourcesChanged != nil || pins.Server != "",
	}}
	if isEmpty(s.filter) {
		return
	}
	ready := make(chan struct{})
	s.active = func(lost error) {
		if lost != nil {
			c.notificationsMissed(lost)
			return
		}
		close(ready)
	}
	ended := make(chan struct{})
	c.goTracked(func() {
		defer close(ended)
		if err := c.keepSubscribed(c.ctx, s); c.ctx.Err() == nil {
			c.opts.logger().Warn("the server sends no notifications of changed lists", "error", err)
		}
	})
	if !wait {
		return
	}
	timeout := time.NewTimer(listSubscriptionWait)
	defer timeout.Stop()
	select {
	case <-ready:
	case <-ended:
	case <-timeout.C:
	case <-ctx.Done():
	}
}
