package mcpclient

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
)

// maxUpdated bounds the changed URIs that a watcher has not yielded yet.
const maxUpdated = 1024

// Watch subscribes to resources and yields the URIs of those that have changed. It
// yields each URI once when the subscription becomes active, and again whenever the
// resource has changed, or may have changed while the connection was lost:
//
//	for uri, err := range c.Watch(ctx, "status://today") {
//		if err != nil {
//			return err
//		}
//		read(uri) // at the start and after each change
//	}
//
// So the loop misses no change between reading and watching. A resource that changes
// several times while the body of the loop runs is yielded once. The server may report
// the URI of a part of a resource.
//
// The loop ends without an error as soon as ctx ends, and with one when the server refuses
// the subscription or the client cannot reconnect. Without URIs it ends at once. Nothing waits
// for the server to end the subscription: the client unsubscribes in the background, for 5
// seconds at most.
func (c *Client) Watch(ctx context.Context, uris ...string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if len(uris) == 0 {
			return
		}
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		w := c.addWatcher(uris)
		defer c.removeWatcher(w)
		// Client.Close waits for this goroutine. The loop does not, because the goroutine may
		// still have to cancel a request.
		ended := make(chan error, 1)
		started := c.goTracked(func() { ended <- c.keepSubscribed(ctx, c.watchSubscription(w)) })
		if !started {
			yield("", fmt.Errorf("watch: %w", ErrClosed))
			return
		}
		if err := w.yieldAll(ctx, ended, yield); err != nil && ctx.Err() == nil {
			yield("", fmt.Errorf("watch: %w", err))
		}
	}
}

// watchSubscription returns the subscription of a watcher.
func (c *Client) watchSubscription(w *watcher) *subscription {
	return &subscription{
		filter: mcp.SubscriptionFilter{ResourceSubscriptions: w.uris},
		active: func(lost error) {
			if lost != nil {
				c.emit(Event{Kind: EventGap, Err: lost})
			}
			for _, uri := range w.uris {
				c.invalidateResource(uri) // it may have changed before the subscription
			}
			w.markAll()
		},
	}
}

// watcher collects the changes that one Watch has not yielded yet.
type watcher struct {
	uris []string
	wake chan struct{} // capacity 1; holds a token if updated is not empty

	mu      sync.Mutex
	updated map[string]bool // guarded by mu
}

func (c *Client) addWatcher(uris []string) *watcher {
	w := &watcher{uris: slices.Clone(uris), wake: make(chan struct{}, 1), updated: make(map[string]bool)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watchers[w] = struct{}{}
	return w
}

func (c *Client) removeWatcher(w *watcher) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.watchers, w)
}

// markUpdated marks a resource as changed for its watchers.
func (c *Client) markUpdated(uri string) {
	for _, w := range c.allWatchers() {
		w.mark(uri)
	}
}

func (c *Client) markAllUpdated() {
	for _, w := range c.allWatchers() {
		w.markAll()
	}
}

func (c *Client) allWatchers() []*watcher {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.watchers))
}

// yieldAll yields changes until the loop is left or ctx ends, for which it returns nil, or until
// the subscription has ended, whose error it returns.
func (w *watcher) yieldAll(ctx context.Context, ended chan error, yield func(string, error) bool) error {
	for {
		select {
		case <-w.wake:
		case err := <-ended:
			return err
		case <-ctx.Done():
			return nil
		}
		for _, uri := range w.take() {
			if ctx.Err() != nil || !yield(uri, nil) {
				return nil
			}
		}
	}
}

// mark records a change of a watched resource or of a part of it.
func (w *watcher) mark(uri string) {
	watched := slices.ContainsFunc(w.uris, func(whole string) bool { return isPart(uri, whole) })
	if !watched {
		return
	}
	w.mu.Lock()
	full := len(w.updated) >= maxUpdated
	if !full {
		w.updated[uri] = true
	}
	w.mu.Unlock()
	if full {
		w.markAll()
		return
	}
	w.signal()
}

// markAll records that every watched resource may have changed.
func (w *watcher) markAll() {
	w.mu.Lock()
	clear(w.updated)
	for _, uri := range w.uris {
		w.updated[uri] = true
	}
	w.mu.Unlock()
	w.signal()
}

func (w *watcher) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	uris := slices.Sorted(maps.Keys(w.updated))
	clear(w.updated)
	return uris
}

func (w *watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// isPart reports whether uri is equal to whole or is a URI below it.
func isPart(uri, whole string) bool {
	rest, ok := strings.CutPrefix(uri, whole)
	return ok && (rest == "" || strings.HasSuffix(whole, "/") || strings.ContainsAny(rest[:1], "/?#"))
}
