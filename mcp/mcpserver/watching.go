package mcpserver

import (
	"context"
	"errors"
	"log/slog"

	"github.com/fondaco/fondaco/mcp"
)

// WhileSubscribed is the option that runs a function while a client is subscribed to a
// resource, or to one that a template serves: to poll a sensor, or to follow the
// source of the resource, and call [Server.Updated] when it has changed.
//
// It is called with the URI for the first subscription, on a goroutine of its own, and
// ctx ends when the last one is cancelled or the server is shut down. For one URI it
// never runs twice at once: it is called again only after it has returned.
// Subscriptions to a parent of the resource alone do not count. A panic is logged and
// ends that run. run must not be nil.
func WhileSubscribed(run func(ctx context.Context, uri string)) ResourceOption {
	if run == nil {
		panic("mcpserver.WhileSubscribed: the function is nil")
	}
	return whileWatched(run)
}

type whileWatched func(context.Context, string)

func (w whileWatched) resource(r *resource) { r.whileWatched = w }

// whileWatched returns what runs while a topic is heard of, or nil.
func (s *Server) whileWatched(t topic, who *mcp.Identity) whileWatched {
	if t.method != mcp.NotificationResourceUpdated {
		return nil
	}
	if f := resourceAt(s.features.Snapshot(), t.subject, who); f != nil {
		return f.whileWatched
	}
	return nil
}

// vigil runs a function of WhileSubscribed for one URI, as often as it comes to be
// watched. Its fields are guarded by the hub's mu.
type vigil struct {
	run     whileWatched
	watched bool
	end     context.CancelCauseFunc // of the run under way
}

var errUnwatched = errors.New("nobody watches the resource any more")

// keepVigil has a function run for a topic that is heard of. The caller holds mu.
func (h *hub) keepVigil(t topic, run whileWatched) {
	v := h.vigils[t.subject]
	switch {
	case h.closed:
		return
	case v != nil:
		v.run, v.watched = run, true
		return
	}
	if h.vigils == nil {
		h.vigils = make(map[string]*vigil)
	}
	v = &vigil{run: run, watched: true}
	h.vigils[t.subject] = v
	h.server.drain.start(func() { h.hold(v, t.subject) })
}

// endVigil ends what runs for a topic that nobody hears of any more. The caller
// holds mu.
func (h *hub) endVigil(t topic) {
	if v := h.vigils[t.subject]; v != nil && t == updates(t.subject) {
		v.stop()
	}
}

func (v *vigil) stop() {
	v.watched = false
	if v.end != nil {
		v.end(errUnwatched)
	}
}

// endVigils ends all of them for good.
func (h *hub) endVigils() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, v := range h.vigils {
		v.stop()
	}
}

// hold runs the function while the URI is watched, and again when it was given up
// and watched again meanwhile.
func (h *hub) hold(v *vigil, uri string) {
	for {
		ctx, run := h.nextRun(v, uri)
		if run == nil {
			return
		}
		h.server.background(ctx, "function of WhileSubscribed", func() error { run(ctx, uri); return nil }, slog.String("uri", uri))
		<-ctx.Done()
	}
}

// nextRun returns what to run now and its context, or nil at the end.
func (h *hub) nextRun(v *vigil, uri string) (context.Context, whileWatched) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !v.watched {
		delete(h.vigils, uri)
		return nil, nil
	}
	ctx, end := context.WithCancelCause(context.Background())
	v.end = end
	return ctx, v.run
}
