package gateway

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// maxWatches limits the watched resources of one upstream.
	maxWatches = 1024
	// establishWait is how long a subscriber waits for the upstream's confirmation, so
	// that it misses no change after the reply.
	establishWait = 3 * time.Second
	// rewatchDelay is the pause before a lost watch is started again.
	rewatchDelay = 2 * time.Second
)

// watches are the watched resources of one upstream. All subscribers that use one
// connection share a watch.
type watches struct {
	mu   sync.Mutex
	byID map[watchID]*watch // guarded by mu
}

type watchID struct {
	caller caller // of the connection; zero for the shared one
	uri    string
}

// watch follows one resource as long as it has subscribers. A subscriber is identified by
// its request.
type watch struct {
	watchID
	upstream        *upstream
	cancel          context.CancelFunc
	established     chan struct{} // closed when the upstream confirms or refuses
	markEstablished func()        // closes established

	mu          sync.Mutex
	subscribers map[*mcpserver.Request]bool // guarded by mu
	refused     error                       // guarded by mu
}

// watch adds a subscriber to a resource until stop is called. It returns nil if there are
// too many watches.
func (u *upstream) watch(r *mcpserver.Request, uri string) (w *watch, stop func()) {
	id := watchID{uri: uri}
	if !u.Settings.Share {
		id.caller = callerOf(r)
	}
	ws := &u.watches
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w = ws.byID[id]; w == nil {
		if w = u.beginWatch(id); w == nil {
			return nil, func() {}
		}
	}
	w.mu.Lock()
	w.subscribers[r] = true
	w.mu.Unlock()
	return w, sync.OnceFunc(func() { ws.removeSubscriber(w, r) })
}

// beginWatch starts a watch, or returns nil when there are too many. The caller holds the
// lock of the watches.
func (u *upstream) beginWatch(id watchID) *watch {
	ws := &u.watches
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(ws.byID) >= maxWatches || u.closed {
		return nil
	}
	w := &watch{watchID: id, upstream: u, established: make(chan struct{}), subscribers: make(map[*mcpserver.Request]bool)}
	w.markEstablished = sync.OnceFunc(func() { close(w.established) })
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(u.ctx)
	if ws.byID == nil {
		ws.byID = make(map[watchID]*watch)
	}
	ws.byID[id] = w
	u.work.Go(func() {
		defer w.markEstablished()
		defer ws.remove(w)
		w.run(ctx)
	})
	return w
}

// removeSubscriber removes a subscriber, and ends the watch after the last one.
func (ws *watches) removeSubscriber(w *watch, r *mcpserver.Request) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w.mu.Lock()
	delete(w.subscribers, r)
	left := len(w.subscribers)
	w.mu.Unlock()
	if left == 0 {
		w.cancel()
		ws.removeLocked(w)
	}
}

func (ws *watches) remove(w *watch) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w.cancel()
	ws.removeLocked(w)
}

func (ws *watches) removeLocked(w *watch) {
	if ws.byID[w.watchID] == w {
		delete(ws.byID, w.watchID)
	}
}

// run follows the resource, over a new connection when one is lost, until ctx is done or
// the upstream refuses.
func (w *watch) run(ctx context.Context) {
	for reconnected := false; ctx.Err() == nil; reconnected = true {
		l, err := w.upstream.lease(ctx, w.caller, nil, nil)
		if err == nil {
			err = w.follow(ctx, l.client, reconnected)
			l.release(err)
		}
		if isRefusedError(err) {
			w.upstream.log.Info("resources: the upstream refuses the subscription", "uri", w.uri, "error", err)
			w.mu.Lock()
			w.refused = err
			w.mu.Unlock()
			return
		}
		select {
		case <-time.After(rewatchDelay):
		case <-ctx.Done():
		}
	}
}

// follow notifies the subscribers of changes until the connection is lost. After a
// reconnection it notifies them once, because the resource may have changed in between.
func (w *watch) follow(ctx context.Context, client *mcpclient.Client, reconnected bool) error {
	first := true
	for uri, err := range client.Watch(ctx, w.uri) {
		if err != nil {
			if _, lost := errors.AsType[*mcpclient.LostError](err); lost || errors.Is(err, mcpclient.ErrClosed) {
				return nil
			}
			return &refusedError{err}
		}
		changed := reconnected || !first || w.isEstablished() // the first confirmation is no change
		first = false
		w.markEstablished()
		if changed {
			w.notifySubscribers(uri)
		}
	}
	return nil
}

// refusedError is the error of an upstream that refuses a subscription.
type refusedError struct{ error }

func (e *refusedError) Unwrap() error { return e.error }

func isRefusedError(err error) bool {
	_, ok := errors.AsType[*refusedError](err)
	return ok
}

func (w *watch) isEstablished() bool {
	select {
	case <-w.established:
		return true
	default:
		return false
	}
}

func (w *watch) notifySubscribers(uri string) {
	w.mu.Lock()
	all := slices.Collect(maps.Keys(w.subscribers))
	w.mu.Unlock()
	for _, r := range all {
		r.Updated(uri)
	}
}

// waitEstablished waits up to establishWait for the upstream's confirmation, and returns
// the error of a refusal.
func (w *watch) waitEstablished(ctx context.Context) error {
	timer := time.NewTimer(establishWait)
	defer timer.Stop()
	select {
	case <-w.established:
	case <-timer.C:
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refused
}
