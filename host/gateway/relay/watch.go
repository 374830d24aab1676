package relay

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// MaxWatches limits the watched resources of one upstream; a URI counts once for each
	// 256 bytes. When it is reached, a watch of the owner that has most is ended.
	MaxWatches = 1024
	// establishWait is how long a subscriber waits for the upstream's confirmation, so
	// that it misses no change after the reply.
	establishWait = 3 * time.Second
	// rewatchDelay is the pause before a lost watch is started again.
	rewatchDelay = 2 * time.Second
)

// watches are the watched resources of one upstream. All subscribers that use one
// connection share a watch.
type watches struct {
	Params
	pool *mcpserver.OwnerPool

	mu   sync.Mutex
	byID map[watchID]*Watch // guarded by mu
}

type watchID struct {
	caller link.Caller // of the connection; zero for the shared one
	uri    string
}

// Watch follows one resource as long as it has subscribers. A subscriber is identified by
// its request.
type Watch struct {
	watchID
	of              *watches
	cancel          context.CancelFunc
	established     chan struct{} // closed when the upstream confirms or refuses
	markEstablished func()        // closes established

	mu          sync.Mutex
	subscribers map[subscriber]mcpserver.Owner // guarded by mu
	refused     error                          // guarded by mu
	owner       mcpserver.Owner                // guarded by mu: the subscriber to whose limits the watch counts
	place       *mcpserver.OwnerPlace          // guarded by mu
}

// subscriber is a request that subscribes to a resource, by its plain or its qualified URI.
type subscriber struct {
	request   *mcpserver.Request
	qualified bool
	place     *link.Place // of the caller at this host
}

// notify notifies the subscriber of a change of a resource of an upstream.
func (s subscriber) notify(key, uri string) {
	if s.qualified {
		uri = host.QualifiedURI(key, uri)
	}
	s.request.Updated(uri)
}

// watch adds a subscriber to a resource until stop is called. subscribed is the URI to which
// it subscribes. It returns nil if there are too many watches.
func (ws *watches) watch(ctx context.Context, r *mcpserver.Request, uri, subscribed string) (w *Watch, stop func()) {
	added := subscriber{r, uri != subscribed, link.PlaceFrom(ctx)}
	id := watchID{uri: uri}
	if !ws.Settings.Share {
		id.caller = link.CallerOf(r)
	}
	for _, get := range []func(watchID, subscriber) *Watch{ws.join, ws.begin, ws.join} { // another request may begin it meanwhile
		if w = get(id, added); w != nil {
			return w, sync.OnceFunc(func() { w.removeSubscriber(added) })
		}
	}
	return nil, func() {}
}

// join adds a subscriber to a watch, and returns nil if there is none.
func (ws *watches) join(id watchID, added subscriber) *Watch {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w := ws.byID[id]
	if w != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.subscribers[added] = added.request.Owner()
	}
	return w
}

// begin starts a watch with its first subscriber, or returns nil when there are too many.
func (ws *watches) begin(id watchID, first subscriber) *Watch {
	owner := first.request.Owner()
	w := &Watch{watchID: id, of: ws, established: make(chan struct{}), owner: owner, subscribers: map[subscriber]mcpserver.Owner{first: owner}}
	w.markEstablished = sync.OnceFunc(func() { close(w.established) })
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(ws.Pool.Context())
	place, err := ws.pool.Take(owner, w.units(), w.evict)
	if err != nil {
		w.cancel()
		return nil
	}
	w.setPlace(owner, place)
	ws.mu.Lock()
	defer ws.mu.Unlock()
	follow := func(context.Context) {
		defer w.markEstablished()
		defer w.end()
		w.run(ctx)
	}
	if ws.byID[id] != nil || ctx.Err() != nil || !ws.Pool.Go(follow) { // or another request has begun the watch
		w.cancel()
		place.Release()
		return nil
	}
	if ws.byID == nil {
		ws.byID = make(map[watchID]*Watch)
	}
	ws.byID[id] = w
	return w
}

// units returns how many units of the pool the watch takes.
func (w *Watch) units() int { return 1 + len(w.uri)/256 }

func (w *Watch) setPlace(owner mcpserver.Owner, place *mcpserver.OwnerPlace) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.owner, w.place = owner, place
}

// removeSubscriber removes a subscriber, and ends the watch after the last one. If the watch
// counted to the subscriber, it counts to another one from now on.
func (w *Watch) removeSubscriber(removed subscriber) {
	w.mu.Lock()
	_, known := w.subscribers[removed]
	delete(w.subscribers, removed)
	left, counts, place := len(w.subscribers) > 0, w.hasOwnerLocked(), w.place
	w.mu.Unlock()
	switch {
	case !known:
	case !left:
		w.endIfUnused()
	case !counts && place.Release(): // otherwise evict is about to do the same
		w.countToAnother()
	}
}

// hasOwnerLocked reports whether the watch counts to the owner of one of its subscribers. The caller
// holds mu.
func (w *Watch) hasOwnerLocked() bool {
	for _, owner := range w.subscribers {
		if owner == w.owner {
			return true
		}
	}
	return false
}

// evict is called when the pool has no room for the watch any more. The subscribers of its owner are
// removed, and notified a last time, because they miss later changes. If there are others, the watch
// counts to an owner of one of them from now on. Otherwise it ends.
func (w *Watch) evict() {
	w.mu.Lock()
	for s, owner := range w.subscribers {
		if owner == w.owner {
			delete(w.subscribers, s)
			defer s.notify(w.of.Key, w.uri)
		}
	}
	w.mu.Unlock()
	w.countToAnother()
}

// countToAnother counts the watch to any of its subscribers, and ends it if there is no room.
func (w *Watch) countToAnother() {
	w.mu.Lock()
	var owner mcpserver.Owner
	for _, owner = range w.subscribers {
		break
	}
	left := len(w.subscribers) > 0
	w.mu.Unlock()
	if left {
		if place, err := w.of.pool.Take(owner, w.units(), w.evict); err == nil {
			w.setPlace(owner, place)
			return
		}
	}
	w.end()
	w.notifySubscribers(w.uri)
}

// endIfUnused ends the watch unless it has another subscriber by now.
func (w *Watch) endIfUnused() {
	ws := w.of
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.subscribers) == 0 {
		w.endLocked()
	}
}

// end ends the watch.
func (w *Watch) end() {
	ws := w.of
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.endLocked()
}

// endLocked ends the watch. The caller holds its mu and that of the watches.
func (w *Watch) endLocked() {
	w.cancel()
	w.place.Release()
	if ws := w.of; ws.byID[w.watchID] == w {
		delete(ws.byID, w.watchID)
	}
}

// run follows the resource, over a new connection when one is lost, until ctx is done or
// the upstream refuses.
func (w *Watch) run(ctx context.Context) {
	for reconnected := false; ctx.Err() == nil; reconnected = true {
		l, err := w.lease(ctx)
		if err == nil {
			err = w.follow(ctx, &l, reconnected)
			l.Release(err)
		}
		if isRefusedError(err) {
			w.of.Log.Info("resources: the upstream refuses the subscription", "uri", w.uri, "error", err)
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

// lease returns a lease of the connection over which the resource is followed. Until the upstream has
// confirmed the subscription, it counts as a call whose caller cannot be asked, so that a question of
// the server is not asked in the call of another client.
func (w *Watch) lease(ctx context.Context) (link.Lease, error) {
	w.mu.Lock()
	owner, of := w.owner, subscriber{}
	for of = range w.subscribers {
		break
	}
	w.mu.Unlock()
	if of.request == nil {
		return link.Lease{}, mcpclient.ErrClosed
	}
	c := newSilentCall(ctx, nil, of.request)
	return w.of.Pool.Lease(link.WithPlace(ctx, of.place), link.Use{Caller: w.caller, Owner: owner, Call: &c.Call})
}

// follow notifies the subscribers of changes until the connection is lost. After a
// reconnection it notifies them once, because the resource may have changed in between.
func (w *Watch) follow(ctx context.Context, l *link.Lease, reconnected bool) error {
	first := true
	for uri, err := range l.Client.Watch(ctx, w.uri) {
		l.EndCall()
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

func (w *Watch) isEstablished() bool {
	select {
	case <-w.established:
		return true
	default:
		return false
	}
}

func (w *Watch) notifySubscribers(uri string) {
	w.mu.Lock()
	all := slices.Collect(maps.Keys(w.subscribers))
	w.mu.Unlock()
	for _, s := range all {
		s.notify(w.of.Key, uri)
	}
}

// WaitEstablished waits up to establishWait for the upstream's confirmation, and returns
// the error of a refusal.
func (w *Watch) WaitEstablished(ctx context.Context) error {
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
