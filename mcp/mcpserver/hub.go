package mcpserver

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
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
	sessions map[*exchange.Session]*subscriber // guarded by mu
	hearers  map[topic]map[*subscriber]bool    // guarded by mu
	vigils   map[string]*vigil                 // by URI; guarded by mu
	closed   bool                              // guarded by mu: no vigil may begin
}

// topic is what changes are about: the notification that tells of them and, where
// it tells of one of many, which.
type topic struct{ method, subject string }

// updates is the topic of one resource.
func updates(uri string) topic { return topic{mcp.NotificationResourceUpdated, uri} }

// event is one change, as a notification.
type event struct {
	topic  topic
	params any
}

// eventOf returns the event of a topic whose params follow from it.
func eventOf(t topic) event {
	if t.method == mcp.NotificationResourceUpdated {
		return event{t, &mcp.ResourceUpdatedParams{URI: t.subject}}
	}
	return event{t, &mcp.EmptyParams{}}
}

// listNote is the notification that announces a change of a kind's list.
var listNote = [kinds]string{
	kindTools:     mcp.NotificationToolsListChanged,
	kindResources: mcp.NotificationResourcesListChanged,
	kindTemplates: mcp.NotificationResourcesListChanged,
	kindPrompts:   mcp.NotificationPromptsListChanged,
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
	sub = newSubscriber(session.Identity, func(ctx context.Context, e event) error {
		msg, err := facts.Notification(e.topic.method, e.params)
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
	for _, t := range everyList {
		h.hearLocked(sub, t)
	}
	return sub
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
	watched := h.server.whileWatched(t, sub.who())
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
	if sub.topics[t] {
		return true
	}
	if sub.removed || len(sub.topics) >= maxWatched+len(everyList) || sub.text+len(t.subject) > maxWatchedText {
		return false
	}
	sub.topics[t] = true
	sub.text += len(t.subject)
	if h.hearers == nil {
		h.hearers = make(map[topic]map[*subscriber]bool)
	}
	if h.hearers[t] == nil {
		h.hearers[t] = make(map[*subscriber]bool)
	}
	h.hearers[t][sub] = true
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
	if !sub.topics[t] {
		return
	}
	delete(sub.topics, t)
	sub.text -= len(t.subject)
	delete(h.hearers[t], sub)
	if len(h.hearers[t]) == 0 {
		delete(h.hearers, t)
		h.endVigil(t)
	}
}

// remove drops a subscriber and waits for what is being delivered to it.
func (h *hub) remove(sub *subscriber) {
	h.mu.Lock()
	sub.removed = true
	for t := range maps.Clone(sub.topics) {
		h.unhearLocked(sub, t)
	}
	h.mu.Unlock()
	sub.close()
}

// hearersOf returns those who hear of a topic now.
func (h *hub) hearersOf(t topic) []*subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.hearers[t]))
}

// listChanged announces changes of lists, here and to the other replicas.
func (h *hub) listChanged(changes []change) {
	h.tellLists(changes)
	h.replicas.listChanged(changes)
}

// tellLists tells of each list once, those who see any of the features that
// changed.
func (h *hub) tellLists(changes []change) {
	for _, t := range everyList {
		of := slices.DeleteFunc(slices.Clone(changes), func(c change) bool { return listNote[c.kind] != t.method })
		if len(of) == 0 {
			continue
		}
		sees := perCaller(func(who *mcp.Identity) bool {
			return slices.ContainsFunc(of, func(c change) bool { return c.feature.visibleTo(who) })
		})
		for _, sub := range h.hearersOf(t) {
			if sees(sub.who()) {
				sub.offer(eventOf(t), eventOf(t))
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
	snap := h.server.features.snapshot()
	gone := !snap.serves(uri)
	mayRead := perCaller(func(who *mcp.Identity) bool { return snap.mayRead(uri, who) })
	for watched := range itselfAndParents(uri) {
		for _, sub := range h.hearersOf(updates(watched)) {
			if gone && watched == uri || mayRead(sub.who()) {
				sub.offer(eventOf(updates(uri)), eventOf(updates(watched)))
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
	return sub.topics[t]
}

// tellAll tells of every topic of a kind, when what has changed is not known.
func (h *hub) tellAll(of func(topic) bool) {
	h.mu.Lock()
	topics := slices.Collect(maps.Keys(h.hearers))
	h.mu.Unlock()
	for _, t := range topics {
		if !of(t) {
			continue
		}
		for _, sub := range h.hearersOf(t) {
			sub.offer(eventOf(t), eventOf(t))
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

// perCaller asks f once for each caller.
func perCaller(f func(*mcp.Identity) bool) func(*mcp.Identity) bool {
	known := make(map[*mcp.Identity]bool)
	return func(who *mcp.Identity) bool {
		answer, asked := known[who]
		if !asked {
			answer = f(who)
			known[who] = answer
		}
		return answer
	}
}
