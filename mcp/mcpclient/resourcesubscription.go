package mcpclient

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

const (
	// unsubscribeTimeout bounds how long the server is asked for the end of one subscription.
	unsubscribeTimeout = 5 * time.Second
	// maxUnsubscribing bounds the requests of a connection that end subscriptions at once.
	maxUnsubscribing = 8
)

// resourceSubscriptions are the subscriptions to resources in a session. Subscribing waits for the
// answer of the server. Unsubscribing does not, and nothing else waits for that answer either: a
// subscription to the same resource is sent before it.
//
// Spec: 2025-11-25 server/resources#subscriptions
type resourceSubscriptions struct {
	conn *connection

	turn  chan struct{} // capacity 1; held while the server is asked to subscribe
	slots chan struct{} // capacity maxUnsubscribing; held while the server is asked to unsubscribe

	mu       sync.Mutex
	watchers map[string]int      // guarded by mu: number of subscribers, by URI
	leaving  map[string]struct{} // guarded by mu: URIs for which leave runs
}

func newResourceSubscriptions(k *connection) *resourceSubscriptions {
	return &resourceSubscriptions{
		conn: k, turn: make(chan struct{}, 1), slots: make(chan struct{}, maxUnsubscribing),
		watchers: make(map[string]int), leaving: make(map[string]struct{}),
	}
}

// subscribe sends one request for a resource that has several subscribers. It returns the URIs for
// which unsubscribe has to be called, also when it fails.
func (r *resourceSubscriptions) subscribe(ctx context.Context, uris []string) (done []string, err error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for i, uri := range uris {
		if r.add(uri) > 1 {
			continue
		}
		err := r.conn.request(ctx, mcp.MethodResourcesSubscribe, &mcp.SubscribeParams{URI: uri})
		switch {
		case err == nil:
			continue
		case answered(err): // refused
			r.remove(uri)
		default: // the server may have got it
			r.unsubscribe(uris[i : i+1])
		}
		return uris[:i], fmt.Errorf("subscribe to %q: %w", uri, err)
	}
	return uris, nil
}

// unsubscribe undoes subscribe. It does not wait for the server.
func (r *resourceSubscriptions) unsubscribe(uris []string) {
	for _, uri := range uris {
		if r.remove(uri) > 0 || r.conn.link.Err() != nil || !r.beginLeaving(uri) {
			continue
		}
		r.conn.client.goTracked(func() { r.leave(uri) })
	}
}

// leave asks the server for no more notifications of a resource. It asks for them again if somebody
// has subscribed before the answer: the server may have processed the two requests in any order.
func (r *resourceSubscriptions) leave(uri string) {
	ctx := r.conn.client.ctx
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return
	case <-r.conn.link.Done():
		return
	}
	for method := r.nextRequest(uri, mcp.MethodResourcesSubscribe); method != ""; method = r.nextRequest(uri, method) {
		r.send(ctx, method, uri)
	}
}

// send sends one request of leave.
func (r *resourceSubscriptions) send(ctx context.Context, method, uri string) {
	ctx, cancel := context.WithTimeout(ctx, unsubscribeTimeout)
	defer cancel()
	c := r.conn.client
	err := r.conn.request(ctx, method, &mcp.SubscribeParams{URI: uri})
	if method != mcp.MethodResourcesSubscribe {
		return
	}
	if err != nil && r.conn.link.Err() == nil {
		c.opts.logger().Warn("the server may send no notifications of a resource: subscribe again", "uri", uri, "error", err)
	}
	c.invalidateResource(uri) // it may have changed between the two subscriptions
	c.markUpdated(uri)
}

// nextRequest returns the method of the request that the server has to get after the given one, or
// nothing if the subscription is as its subscribers want it; then leave ends.
func (r *resourceSubscriptions) nextRequest(uri, last string) (method string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	method = mcp.MethodResourcesUnsubscribe
	if r.watchers[uri] > 0 {
		method = mcp.MethodResourcesSubscribe
	}
	if method == last {
		delete(r.leaving, uri)
		return ""
	}
	return method
}

// add adds a subscriber and returns how many there are.
func (r *resourceSubscriptions) add(uri string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchers[uri]++
	return r.watchers[uri]
}

// remove removes a subscriber and returns how many are left.
func (r *resourceSubscriptions) remove(uri string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := r.watchers[uri] - 1
	if r.watchers[uri] = left; left == 0 {
		delete(r.watchers, uri)
	}
	return left
}

// beginLeaving reports whether leave has to be started, because it does not run.
func (r *resourceSubscriptions) beginLeaving(uri string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, runs := r.leaving[uri]; runs {
		return false
	}
	r.leaving[uri] = struct{}{}
	return true
}
