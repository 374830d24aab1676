package mcpserver

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/registry"
)

// hub knows who hears of which changes: the sessions of the session era, and the
// listen requests of the stateless one.
//
//	Tool, SetResource, … → listChanged ─┐
//	Updated ────────────────────────────┼→ offer → subscriber, one per session or listen
//	replicas, by the Bus ───────────────┘          └→ replicas, which are one more
type hub struct {
	server   *Server
	replicas replicas

	mu       sync.Mutex
	sessions map[*exchange.Session]*subscriber // that have joined; guarded by mu
	hearers  map[topic]*audience               // guarded by mu
	vigils   map[string]*vigil                 // by URI; guarded by mu
	closed   bool                              // guarded by mu: no vigil may begin
}

// audience is who hears of a topic because it was asked for.
type audience struct {
	topic topic
	subs  map[*subscriber]bool
}

// topic is what changes are about: the notification that tells of them and, where
// it tells of one of many, which.
type topic struct{ method, subject string }

// updates is the topic of one resource.
func updates(uri string) topic { return topic{mcp.NotificationResourceUpdated, uri} }

// event is one change. All who hear of it in one revision get the same bytes, but
// for the id of a subscription.
type event struct {
	topic  topic
	params any

	mu      sync.Mutex
	encoded map[*dialect.Facts]dialect.Announcement // guarded by mu
}

// eventOf returns the event of a topic whose params follow from it.
func eventOf(t topic) *event {
	if t.method == mcp.NotificationResourceUpdated {
		return &event{topic: t, params: &mcp.ResourceUpdatedParams{URI: t.subject}}
	}
	return &event{topic: t, params: &mcp.EmptyParams{}}
}

// in returns the event in the form of a revision.
func (e *event) in(f *dialect.Facts) (dialect.Announcement, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	a, known := e.encoded[f]
	if known {
		return a, nil
	}
	a, err := f.Announcement(e.topic.method, e.params)
	if err != nil {
		return a, err
	}
	if e.encoded == nil {
		e.encoded = make(map[*dialect.Facts]dialect.Announcement)
	}
	e.encoded[f] = a
	return a, nil
}

// listNote is the notification that announces a change of a kind's list.
var listNote = [registry.Kinds]string{
	registry.Tools:     mcp.NotificationToolsListChanged,
	registry.Resources: mcp.NotificationResourcesListChanged,
	registry.Templates: mcp.NotificationResourcesListChanged,
	registry.Prompts:   mcp.NotificationPromptsListChanged,
}

// everyList are the topics that a session hears of unasked.
var everyList = topicsOf(mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true})

// topicsOf returns what a filter asks for.
func topicsOf(f mcp.SubscriptionFilter) []topic {
	var topics []topic
	if f.ToolsListChanged {
		topics = append(topics, topic{method: mcp.NotificationToolsListChanged})
	}
	if f.PromptsListChanged {
		topics = append(topics, topic{method: mcp.NotificationPromptsListChanged})
	}
	if f.ResourcesListChanged {
		topics = append(topics, topic{method: mcp.NotificationResourcesListChanged})
	}
	for _, uri := range f.ResourceSubscriptions {
		topics = append(topics, updates(uri))
	}
	return topics
}

// join lets a session hear of every list from now on, if it is open.
func (h *hub) join(session *exchange.Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, joined := h.sessions[session]; joined || !h.server.drain.alive(session) {
		return
	}
	if h.sessions == nil {
		h.sessions = make(map[*exchange.Session]*subscriber)
	}
	h.sessions[session] = nil
}

// subscriberOf returns the subscriber of a session, which it makes when it is first
// needed: most sessions hear of nothing. One that has not joined has none.
func (h *hub) subscriberOf(session *exchange.Session) *subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, joined := h.sessions[session]; !joined {
		return nil
	}
	return h.subscriberLocked(session)
}

func (h *hub) subscriberLocked(session *exchange.Session) *subscriber {
	sub := h.sessions[session]
	if sub == nil {
		how := spawned
		if session.Queues {
			how = offered
		}
		sub = newSubscriber(sessionListener{session}, how)
		sub.lists = true
		h.sessions[session] = sub
	}
	return sub
}

// sessionListener is a session that hears.
type sessionListener struct{ *exchange.Session }

func (s sessionListener) deliver(ctx context.Context, e *event) error {
	a, err := e.in(s.Agreed().Facts)
	if err != nil || a.IsZero() {
		return err
	}
	return s.Push(ctx, a.Message())
}

// forget drops a session and waits for what is being pushed to it.
func (h *hub) forget(session *exchange.Session) {
	h.mu.Lock()
	sub := h.sessions[session]
	delete(h.sessions, session)
	h.mu.Unlock()
	if sub != nil {
		h.remove(sub)
	}
}

// hear makes a subscriber hear of a topic from now on. It reports false when the
// subscriber hears of as much as it may, or of nothing any more.
func (h *hub) hear(sub *subscriber, t topic) bool {
	watched := h.server.whileWatched(t, sub.Identity())
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.hearLocked(sub, t) {
		return false
	}
	if watched != nil {
		h.keepVigil(t, watched)
	}
	return true
}

// hearLocked is hear for a topic that nothing depends on. The caller holds mu.
func (h *hub) hearLocked(sub *subscriber, t topic) bool {
	a := h.hearers[t]
	if a != nil && a.subs[sub] {
		return true
	}
	most := maxWatched
	if !sub.lists {
		most += len(everyList) // which are among the topics then
	}
	if sub.removed || len(sub.hears) >= most || sub.text+len(t.subject) > maxWatchedText {
		return false
	}
	if h.hearers == nil {
		h.hearers = make(map[topic]*audience)
	}
	if a == nil {
		a = &audience{topic: t, subs: make(map[*subscriber]bool)}
		h.hearers[t] = a
	}
	a.subs[sub] = true
	sub.hears = append(sub.hears, a)
	sub.text += len(t.subject)
	return true
}

// unhear ends hear. What the subscriber has still to hear of the topic it will
// not.
func (h *hub) unhear(sub *subscriber, t topic) {
	h.mu.Lock()
	h.unhearLocked(sub, t)
	h.mu.Unlock()
	sub.retract(t)
}

func (h *hub) unhearLocked(sub *subscriber, t topic) {
	if i := slices.IndexFunc(sub.hears, func(a *audience) bool { return a.topic == t }); i >= 0 {
		h.leave(sub, sub.hears[i])
		sub.hears = slices.Delete(sub.hears, i, i+1)
	}
}

// leave takes a subscriber out of an audience. The caller holds mu.
func (h *hub) leave(sub *subscriber, a *audience) {
	delete(a.subs, sub)
	sub.text -= len(a.topic.subject)
	if len(a.subs) == 0 {
		delete(h.hearers, a.topic)
		h.endVigil(a.topic)
	}
}

// remove drops a subscriber and waits for what is being delivered to it.
func (h *hub) remove(sub *subscriber) {
	h.mu.Lock()
	sub.removed = true
	for _, a := range sub.hears {
		h.leave(sub, a)
	}
	sub.hears = nil
	h.mu.Unlock()
	sub.close()
}

// hearersOf returns those who hear of a topic now.
func (h *hub) hearersOf(t topic) []*subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	var hearers []*subscriber
	if a := h.hearers[t]; a != nil {
		hearers = slices.AppendSeq(make([]*subscriber, 0, len(a.subs)), maps.Keys(a.subs))
	}
	if slices.Contains(everyList, t) {
		for session := range h.sessions {
			hearers = append(hearers, h.subscriberLocked(session))
		}
	}
	return hearers
}

// listChanged announces changes of lists, here and to the other replicas.
func (h *hub) listChanged(changes []registry.Change) {
	h.tellLists(changes)
	h.replicas.listChanged(changes)
}

// tellLists tells of each list once, those who see any of the features that
// changed.
func (h *hub) tellLists(changes []registry.Change) {
	for _, t := range everyList {
		of := slices.DeleteFunc(slices.Clone(changes), func(c registry.Change) bool { return listNote[c.Kind] != t.method })
		if len(of) == 0 {
			continue
		}
		sees := h.perCaller(func(who *mcp.Identity) bool {
			return slices.ContainsFunc(of, func(c registry.Change) bool { return c.Feature.VisibleTo(who) })
		})
		e := eventOf(t)
		for _, sub := range h.hearersOf(t) {
			if sees(sub.Identity()) {
				sub.offer(e, e)
			}
		}
	}
}

// updated announces a resource that has changed, here and to the other replicas.
func (h *hub) updated(uri string) {
	h.tellUpdated(uri)
	h.replicas.updated(uri)
}

// tellUpdated tells those who watch a resource, and those who watch a parent of
// it and may read the resource itself. None of them hears of one that is hidden.
func (h *hub) tellUpdated(uri string) {
	snap := h.server.features.Snapshot()
	gone := !isServed(snap, uri)
	reads := h.perCaller(func(who *mcp.Identity) bool { return mayRead(snap, uri, who) })
	e := eventOf(updates(uri))
	for watched := range itselfAndParents(uri) {
		whole := eventOf(updates(watched))
		for _, sub := range h.hearersOf(updates(watched)) {
			if gone && watched == uri || reads(sub.Identity()) {
				sub.offer(e, whole)
			}
		}
	}
}

// tellOne tells one subscriber, if it watches a resource or a parent of it.
func (h *hub) tellOne(sub *subscriber, uri string) {
	for watched := range itselfAndParents(uri) {
		if h.hears(sub, updates(watched)) {
			sub.offer(eventOf(updates(uri)), eventOf(updates(watched)))
		}
	}
}

func (h *hub) hears(sub *subscriber, t topic) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.hearers[t]
	return a != nil && a.subs[sub]
}

// tellAll tells of every topic of a kind, when what has changed is not known.
func (h *hub) tellAll(of func(topic) bool) {
	h.mu.Lock()
	topics := slices.Collect(maps.Keys(h.hearers))
	h.mu.Unlock()
	topics = slices.DeleteFunc(topics, func(t topic) bool { return slices.Contains(everyList, t) })
	for _, t := range append(topics, everyList...) {
		if !of(t) {
			continue
		}
		e := eventOf(t)
		for _, sub := range h.hearersOf(t) {
			sub.offer(e, e)
		}
	}
}

// itselfAndParents yields a URI and what it can be a part of, such as notes://a
// and notes://a/ of notes://a/b.
func itselfAndParents(uri string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if !yield(uri) {
			return
		}
		for end := strings.LastIndexByte(uri, '/'); end >= 0; end = strings.LastIndexByte(uri[:end], '/') {
			if end+1 < len(uri) && !yield(uri[:end+1]) || !yield(uri[:end]) {
				return
			}
		}
	}
}

// perCaller asks f once for each caller. f may run functions of Visible: where one
// panics, that is logged and the answer is false.
func (h *hub) perCaller(f func(*mcp.Identity) bool) func(*mcp.Identity) bool {
	known := make(map[*mcp.Identity]bool)
	return func(who *mcp.Identity) bool {
		answer, asked := known[who]
		if !asked {
			h.server.background(context.Background(), "function of Visible", func() error { answer = f(who); return nil })
			known[who] = answer
		}
		return answer
	}
}
