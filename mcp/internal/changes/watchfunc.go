package changes

import (
	"context"
	"errors"
	"log/slog"

	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// WatchFunc is a function that runs while a resource has subscribers.
type WatchFunc func(ctx context.Context, uri string)

// watchRun runs the WatchFunc of one URI, again each time that the URI gets its first
// subscriber. Its fields are guarded by the hub's mu.
type watchRun struct {
	run     WatchFunc
	watched bool
	cancel  context.CancelCauseFunc // of the current run
}

var errUnwatched = errors.New("the resource has no subscribers any more")

// startWatchFuncLocked runs a function for a resource that has got its first subscriber.
func (h *Hub) startWatchFuncLocked(uri string, run WatchFunc) {
	w := h.watchRuns[uri]
	switch {
	case h.stopped:
		return
	case w != nil:
		w.run, w.watched = run, true
		return
	}
	if h.watchRuns == nil {
		h.watchRuns = make(map[string]*watchRun)
	}
	w = &watchRun{run: run, watched: true}
	h.watchRuns[uri] = w
	h.server.Go(func() { h.runWatchFunc(w, uri) })
}

// stopWatchFuncLocked cancels the function of a topic without subscribers.
func (h *Hub) stopWatchFuncLocked(t Topic) {
	if w := h.watchRuns[t.subject]; w != nil && t == ResourceTopic(t.subject) {
		w.stop()
	}
}

func (w *watchRun) stop() {
	w.watched = false
	if w.cancel != nil {
		w.cancel(errUnwatched)
	}
}

// StopWatchFuncs cancels all functions and prevents new ones.
func (h *Hub) StopWatchFuncs() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	for _, w := range h.watchRuns {
		w.stop()
	}
}

// runWatchFunc runs the function while the URI has subscribers, and again when the URI gets
// subscribers after it had none.
func (h *Hub) runWatchFunc(w *watchRun, uri string) {
	for {
		ctx, run := h.nextRun(w, uri)
		if run == nil {
			return
		}
		if err := usercode.Run(func() error { run(ctx, uri); return nil }); err != nil {
			h.failed(ctx, "function of WhileSubscribed failed", err, slog.String("uri", uri))
		}
		<-ctx.Done()
	}
}

// nextRun returns the function to run now and its context, or nil to end.
func (h *Hub) nextRun(w *watchRun, uri string) (context.Context, WatchFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !w.watched {
		delete(h.watchRuns, uri)
		return nil, nil
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	w.cancel = cancel
	return ctx, w.run
}
