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
	// maxWatches bounds the resources of one upstream that are watched.
	maxWatches = 1024
	// placeGrace is how long a subscriber waits until the upstream tells of
	// changes, so that none is missed between.
	placeGrace = 3 * time.Second
	// rewatchPause is how long a watch waits for a line that is not there.
	rewatchPause = 2 * time.Second
)

// watches are the resources of one upstream that somebody watches, each once for
// all subscribers that share a line.
type watches struct {
	mu   sync.Mutex
	byID map[watchID]*watch // guarded by mu
}

type watchID struct {
	caller caller // who has the line; nobody for that of the house
	uri    string
}

// watch follows one resource as long as it has subscribers. Each of them is
// known by the request that subscribed.
type watch struct {
	watchID
	upstream *upstream
	cancel   context.CancelFunc
	placed   chan struct{} // closed once the upstream tells of changes, or refuses to
	place    func()        // closes it

	mu          sync.Mutex
	subscribers map[*mcpserver.Request]bool // guarded by mu
	refused     error                       // guarded by mu
}

// watch adds a subscriber to a resource, until leave is called.
func (u *upstream) watch(r *mcpserver.Request, uri string) (w *watch, leave func()) {
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
	return w, sync.OnceFunc(func() { ws.leave(w, r) })
}

// beginWatch returns a new watch, or nil when there are too many. The caller
// holds the lock of the watches.
func (u *upstream) beginWatch(id watchID) *watch {
	ws := &u.watches
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(ws.byID) >= maxWatches || u.closed {
		return nil
	}
	w := &watch{watchID: id, upstream: u, placed: make(chan struct{}), subscribers: make(map[*mcpserver.Request]bool)}
	w.place = sync.OnceFunc(func() { close(w.placed) })
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(u.ctx)
	if ws.byID == nil {
		ws.byID = make(map[watchID]*watch)
	}
	ws.byID[id] = w
	u.work.Go(func() {
		defer w.place()
		defer ws.remove(w)
		w.run(ctx)
	})
	return w
}

// leave removes a subscriber. With the last one the watch ends.
func (ws *watches) leave(w *watch, r *mcpserver.Request) {
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

// run follows the resource, over one line after the other, until ctx is done or
// the upstream does not tell of it.
func (w *watch) run(ctx context.Context) {
	for again := false; ctx.Err() == nil; again = true {
		use, err := w.upstream.lease(ctx, w.caller, nil)
		if err == nil {
			err = w.follow(ctx, use.client, again)
			use.done(err)
		}
		if isRefused(err) {
			w.upstream.log.Info("resource is not followed", "uri", w.uri, "error", err)
			w.mu.Lock()
			w.refused = err
			w.mu.Unlock()
			return
		}
		select {
		case <-time.After(rewatchPause):
		case <-ctx.Done():
		}
	}
}

// follow tells the subscribers of changes until the line is lost. On a line that
// takes the place of another everything may have changed meanwhile.
func (w *watch) follow(ctx context.Context, client *mcpclient.Client, again bool) error {
	first := true
	for uri, err := range client.Watch(ctx, w.uri) {
		if err != nil {
			if _, lost := errors.AsType[*mcpclient.LostError](err); lost || errors.Is(err, mcpclient.ErrClosed) {
				return nil
			}
			return &refusedError{err}
		}
		news := again || !first || w.isPlaced() // else they wait for it, and missed nothing
		first = false
		w.place()
		if news {
			w.tell(uri)
		}
	}
	return nil
}

// refusedError is the answer of an upstream that does not tell of a resource.
type refusedError struct{ error }

func (e *refusedError) Unwrap() error { return e.error }

func isRefused(err error) bool {
	_, ok := errors.AsType[*refusedError](err)
	return ok
}

func (w *watch) isPlaced() bool {
	select {
	case <-w.placed:
		return true
	default:
		return false
	}
}

func (w *watch) tell(uri string) {
	w.mu.Lock()
	all := slices.Collect(maps.Keys(w.subscribers))
	w.mu.Unlock()
	for _, r := range all {
		r.Updated(uri)
	}
}

// inPlace waits a little for the upstream to tell of changes, and returns why it
// does not.
func (w *watch) inPlace(ctx context.Context) error {
	enough := time.NewTimer(placeGrace)
	defer enough.Stop()
	select {
	case <-w.placed:
	case <-enough.C:
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refused
}
