package mcpserver

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

// hub knows who wants to hear of changes: the sessions of the session era, and
// the listen requests of the stateless one.
type hub struct {
	server *Server

	mu       sync.Mutex
	sessions map[*exchange.Session]*subscriber // guarded by mu
	listens  map[*subscriber]bool              // guarded by mu
}

// event is one change, as a notification.
type event struct {
	method string
	uri    string                  // of an updated resource
	filter *mcp.SubscriptionFilter // of an acknowledgement
}

func (e event) params() any {
	switch {
	case e.filter != nil:
		return &mcp.AcknowledgedParams{Notifications: *e.filter}
	case e.uri != "":
		return &mcp.ResourceUpdatedParams{URI: e.uri}
	}
	return &mcp.EmptyParams{}
}

// listNote is the notification that announces a change of a kind's list.
var listNote = [kinds]string{
	kindTools:     mcp.NotificationToolsListChanged,
	kindResources: mcp.NotificationResourcesListChanged,
	kindTemplates: mcp.NotificationResourcesListChanged,
	kindPrompts:   mcp.NotificationPromptsListChanged,
}

// join adds a session that hears of every list from now on, if it is not there
// already, and returns its subscriber. A session that has ended has none.
func (h *hub) join(session *exchange.Session) *subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	sub := h.sessions[session]
	if sub != nil || !h.server.drain.alive(session) {
		return sub
	}
	facts := session.Agreed().Facts
	everything := mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}
	sub = newSubscriber(session.Principal, everything, func(ctx context.Context, e event) error {
		msg, err := facts.Notification(e.method, e.params())
		if err != nil || msg == nil {
			return err
		}
		return session.Push(ctx, msg)
	})
	sub.spawn = true
	if h.sessions == nil {
		h.sessions = make(map[*exchange.Session]*subscriber)
	}
	h.sessions[session] = sub
	return sub
}

// forget drops a session and waits for what is being pushed to it.
func (h *hub) forget(session *exchange.Session) {
	h.mu.Lock()
	sub := h.sessions[session]
	delete(h.sessions, session)
	h.mu.Unlock()
	if sub != nil {
		sub.close()
	}
}

func (h *hub) add(sub *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listens == nil {
		h.listens = make(map[*subscriber]bool)
	}
	h.listens[sub] = true
}

func (h *hub) remove(sub *subscriber) {
	h.mu.Lock()
	delete(h.listens, sub)
	h.mu.Unlock()
	sub.close()
}

func (h *hub) all() []*subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	subs := make([]*subscriber, 0, len(h.sessions)+len(h.listens))
	for _, sub := range h.sessions {
		subs = append(subs, sub)
	}
	for sub := range h.listens {
		subs = append(subs, sub)
	}
	return subs
}

// listChanged announces changes of lists, each list once, to those who see any of
// the features that changed.
func (h *hub) listChanged(changes []change) {
	for _, sub := range h.all() {
		told := make(map[string]bool)
		for _, c := range changes {
			if note := listNote[c.kind]; !told[note] && c.feature.visibleTo(sub.principal) {
				told[note] = true
				sub.offer(event{method: note})
			}
		}
	}
}

// updated announces a resource that has changed: to those who watch it, and to
// those who watch a parent of it and may read the resource itself.
func (h *hub) updated(uri string) {
	snap := h.server.features.snapshot()
	for _, sub := range h.all() {
		if snap.resourceAt(uri, sub.principal) != nil || sub.watches(uri) {
			sub.offer(event{method: mcp.NotificationResourceUpdated, uri: uri})
		}
	}
}

// coalesce is how long events are gathered after one was sent, so that of many
// in a row the first and the last are sent.
const coalesce = 50 * time.Millisecond

// subscriber is one session or listen request. What it has still to hear is a
// set that cannot grow beyond what it asked for, so a slow one costs nothing
// and delays nobody.
type subscriber struct {
	principal mcp.Principal
	deliver   func(context.Context, event) error
	spawn     bool // a goroutine delivers while there is something; otherwise serve does

	mu      sync.Mutex
	wants   map[string]bool // methods
	watched map[string]bool // URIs
	pending []event
	wake    chan struct{}
	running bool
	closed  bool
	ctx     context.Context
	cancel  context.CancelFunc
	idle    sync.WaitGroup
}

func newSubscriber(p mcp.Principal, f mcp.SubscriptionFilter, deliver func(context.Context, event) error) *subscriber {
	s := &subscriber{
		principal: p, deliver: deliver, wake: make(chan struct{}, 1), watched: make(map[string]bool),
		wants: map[string]bool{
			mcp.NotificationToolsListChanged:     f.ToolsListChanged,
			mcp.NotificationPromptsListChanged:   f.PromptsListChanged,
			mcp.NotificationResourcesListChanged: f.ResourcesListChanged,
		},
	}
	for _, uri := range f.ResourceSubscriptions {
		s.watched[uri] = true
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// watch adds a resource and reports whether there was room for it.
func (s *subscriber) watch(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.watched) >= maxWatched && !s.watched[uri] {
		return false
	}
	s.watched[uri] = true
	return true
}

// watches reports whether the resource itself is watched.
func (s *subscriber) watches(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watched[uri]
}

func (s *subscriber) unwatch(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watched, uri)
}

// offer queues an event if the subscriber wants it and has not got it to hear
// already.
func (s *subscriber) offer(e event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !s.wantsLocked(e) || slices.Contains(s.pending, e) || len(s.pending) > 2*maxWatched {
		return
	}
	s.pending = append(s.pending, e)
	if !s.spawn {
		select {
		case s.wake <- struct{}{}:
		default:
		}
		return
	}
	if !s.running {
		s.running = true
		s.idle.Go(s.drainPending)
	}
}

func (s *subscriber) wantsLocked(e event) bool {
	if e.uri == "" {
		return s.wants[e.method]
	}
	if s.watched[e.uri] {
		return true
	}
	for uri := range s.watched {
		if strings.HasPrefix(e.uri, strings.TrimSuffix(uri, "/")+"/") {
			return true
		}
	}
	return false
}

func (s *subscriber) take() []event {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := s.pending
	s.pending = nil
	if len(events) == 0 {
		s.running = false
	}
	return events
}

// drainPending delivers what is pending and what comes within the time of
// coalescing after it, then ends.
func (s *subscriber) drainPending() {
	for {
		events := s.take()
		if len(events) == 0 {
			return
		}
		s.send(s.ctx, events)
		s.pause(s.ctx)
	}
}

// serve delivers events until ctx ends, which is an error, or until end is
// closed. What is pending at the end is delivered first.
func (s *subscriber) serve(ctx context.Context, end <-chan struct{}) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end:
			return s.send(ctx, s.take())
		case <-s.wake:
			if err := s.send(ctx, s.take()); err != nil {
				return err
			}
			s.pause(ctx)
		}
	}
}

func (s *subscriber) send(ctx context.Context, events []event) error {
	for _, e := range events {
		if err := s.deliver(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func (s *subscriber) pause(ctx context.Context) {
	t := time.NewTimer(coalesce)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// close drops what is pending and waits for what is being delivered.
func (s *subscriber) close() {
	s.mu.Lock()
	s.closed = true
	s.pending = nil
	s.mu.Unlock()
	s.cancel()
	s.idle.Wait()
}
