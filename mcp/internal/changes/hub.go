package changes

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// Limits of the subscriptions of one session or listen request: their number and the bytes of
// their URIs.
const (
	MaxResources     = 1024
	MaxResourceBytes = 256 << 10
)

// Server is what a Hub needs of its server. All methods are safe for concurrent use. Go
// and IsOpen are called under a lock of the Hub, and must not call it.
type Server interface {
	// Resource reports whether a resource exists, and returns the function that reports
	// whether a caller may read it.
	Resource(uri string) (exists bool, mayRead func(*mcp.Identity) bool)
	// WatchFunc returns the function that runs while the resource is watched, or nil
	// when there is none or the caller may not read it.
	WatchFunc(uri string, who *mcp.Identity) WatchFunc
	// Features returns the features to which a notification of another replica refers: those
	// with the key or, if the key is empty, every list of the method.
	Features(method, key string) []Feature
	// IsOpen reports whether the session is open.
	IsOpen(session *exchange.Session) bool
	// Go runs f on a goroutine that a shutdown waits for.
	Go(f func())
	// Evicted reports that a subscription of the principal was ended because its place was
	// given to another owner.
	Evicted(mcp.Principal)
	// Logger returns the server's log.
	Logger() *slog.Logger
}

// Feature is a feature of a list that has changed.
type Feature struct {
	// Method is the notification that announces a change of the list.
	Method string
	// Key names a feature that is hidden from some callers; otherwise it is empty.
	Key string
	// VisibleTo reports whether a caller may see the feature.
	VisibleTo func(*mcp.Identity) bool
}

// Hub delivers changes to their subscribers: sessions, listen requests, and the other
// replicas of the server.
//
//	ListChanged ────────────┐
//	Updated ────────────────┼→ offer → Subscriber, one per session or listen request
//	replicas, by the Bus ───┘          └→ replicas, as another Subscriber
type Hub struct {
	server   Server
	pool     *limit.Pool // the subscriptions of all subscribers, in units of reservationSize
	replicas replicas

	mu          sync.Mutex
	sessions    map[*exchange.Session]*Subscriber // guarded by mu: added; nil until a session is notified
	subscribers map[Topic]*subscription           // guarded by mu
	watchRuns   map[string]*watchRun              // guarded by mu: by URI
	stopped     bool                              // guarded by mu: no watchRun may start
}

// subscription is the set of subscribers to a topic.
type subscription struct {
	topic Topic
	subs  map[*Subscriber]*reservation
}

// Open sets the server, and the pool that bounds all subscriptions: each takes one unit per
// started 256 bytes of its URI. It must be called once, before every other method.
func (h *Hub) Open(s Server, pool *limit.Pool) { h.server, h.pool = s, pool }

// AddSession subscribes a session to every list, if the session is open and was not
// initialized again since it agreed on agreed. It reports false if it did not, or had before.
func (h *Hub) AddSession(session *exchange.Session, agreed *dialect.Session) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, added := h.sessions[session]; added || session.Agreed() != agreed || !h.server.IsOpen(session) {
		return false
	}
	if h.sessions == nil {
		h.sessions = make(map[*exchange.Session]*Subscriber)
	}
	h.sessions[session] = nil
	return true
}

// Session returns the subscriber of a session, or nil when AddSession has not added it.
func (h *Hub) Session(session *exchange.Session, agreed *dialect.Session) *Subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, added := h.sessions[session]; !added || session.Agreed() != agreed {
		return nil
	}
	return h.sessionLocked(session)
}

// sessionLocked returns the subscriber of a session, which it creates when it is first needed:
// most sessions are never notified.
func (h *Hub) sessionLocked(session *exchange.Session) *Subscriber {
	sub := h.sessions[session]
	if sub == nil {
		how := byGoroutine
		if session.Queues {
			how = byOffer
		}
		sub = newSubscriber(sessionListener{session}, session.Owner, how)
		sub.lists = true
		h.sessions[session] = sub
	}
	return sub
}

// sessionListener sends changes to a session.
type sessionListener struct{ *exchange.Session }

// Client implements Listener.
func (s sessionListener) Client() (mcp.Revision, *mcp.ClientCapabilities) {
	agreed := s.Agreed()
	return agreed.Facts.Revision, agreed.Capabilities
}

// Deliver implements Listener.
func (s sessionListener) Deliver(ctx context.Context, e *Event) error {
	a, err := e.In(s.Agreed().Facts)
	if err != nil || a.IsZero() {
		return err
	}
	return s.Push(ctx, a.Message())
}

// RemoveSession removes a session and waits for deliveries in progress.
func (h *Hub) RemoveSession(session *exchange.Session) {
	h.mu.Lock()
	sub := h.sessions[session]
	delete(h.sessions, session)
	h.mu.Unlock()
	if sub != nil {
		h.Remove(sub)
	}
}

// Subscribe subscribes to topics. They take one place in the pool, charged to the owner of the
// subscriber; bytes is the memory that the subscription keeps in addition to the URIs. When
// the place is given to another owner, these subscriptions end and Serve returns ErrEvicted.
// Subscribe fails with ErrTooMany, ErrRemoved, limit.ErrOwnerFull or limit.ErrPoolFull; the
// topics before the failed one may be subscribed to then.
func (h *Hub) Subscribe(sub *Subscriber, topics []Topic, bytes int) error {
	topics = h.notSubscribed(sub, topics)
	runs := make([]WatchFunc, len(topics))
	for i, t := range topics {
		if t.method == mcp.NotificationResourceUpdated {
			runs[i] = h.server.WatchFunc(t.subject, sub.Identity())
		}
	}
	r, err := h.reserve(sub, topics, bytes)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r.topics = 1 // until all are added
	defer r.dropLocked()
	for i, t := range topics {
		if err := h.subscribeLocked(r, t); err != nil {
			return err
		}
		if runs[i] != nil {
			h.startWatchFuncLocked(t.subject, runs[i])
		}
	}
	return nil
}

// SetResources subscribes to these resources and to no others, each with a place of its own in
// the pool. The error is that of the first one that is refused.
func (h *Hub) SetResources(sub *Subscriber, uris []string) (refused error) {
	wanted := make(map[string]bool, len(uris))
	for _, uri := range uris {
		wanted[uri] = true
	}
	for _, t := range h.resourcesOf(sub) {
		if !wanted[t.subject] {
			h.Unsubscribe(sub, t)
		}
	}
	for _, uri := range uris {
		refused = cmp.Or(refused, h.Subscribe(sub, []Topic{ResourceTopic(uri)}, 0))
	}
	return refused
}

func (h *Hub) resourcesOf(sub *Subscriber) (topics []Topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range sub.topics {
		if s.topic.method == mcp.NotificationResourceUpdated {
			topics = append(topics, s.topic)
		}
	}
	return topics
}

// notSubscribed returns the topics to which the subscriber has not subscribed yet.
func (h *Hub) notSubscribed(sub *Subscriber, topics []Topic) []Topic {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(topics), func(t Topic) bool { return h.isSubscribedLocked(sub, t) })
}

func (h *Hub) subscribeLocked(r *reservation, t Topic) error {
	sub, s := r.sub, h.subscribers[t]
	if h.isSubscribedLocked(sub, t) {
		return nil
	}
	maxTopics := MaxResources
	if !sub.lists {
		maxTopics += len(allLists) // the lists are among the topics
	}
	switch {
	case sub.removed:
		return ErrRemoved
	case r.evicted:
		return limit.ErrPoolFull
	case len(sub.topics) >= maxTopics || sub.bytes+len(t.subject) > MaxResourceBytes:
		return ErrTooMany
	}
	if h.subscribers == nil {
		h.subscribers = make(map[Topic]*subscription)
	}
	if s == nil {
		s = &subscription{topic: t, subs: make(map[*Subscriber]*reservation)}
		h.subscribers[t] = s
	}
	s.subs[sub] = r
	r.topics++
	sub.topics = append(sub.topics, s)
	sub.bytes += len(t.subject)
	return nil
}

// Unsubscribe ends a subscription to a topic. Its queued event is dropped.
func (h *Hub) Unsubscribe(sub *Subscriber, t Topic) {
	h.mu.Lock()
	h.unsubscribeLocked(sub, t)
	h.mu.Unlock()
	sub.retract(t)
}

func (h *Hub) unsubscribeLocked(sub *Subscriber, t Topic) {
	if i := slices.IndexFunc(sub.topics, func(s *subscription) bool { return s.topic == t }); i >= 0 {
		h.dropLocked(sub, sub.topics[i])
		sub.topics = slices.Delete(sub.topics, i, i+1)
	}
}

// dropLocked removes a subscriber from a subscription.
func (h *Hub) dropLocked(sub *Subscriber, s *subscription) {
	s.subs[sub].dropLocked()
	delete(s.subs, sub)
	sub.bytes -= len(s.topic.subject)
	if len(s.subs) == 0 {
		delete(h.subscribers, s.topic)
		h.stopWatchFuncLocked(s.topic)
	}
}

// Remove removes a subscriber and waits for deliveries in progress.
func (h *Hub) Remove(sub *Subscriber) {
	h.mu.Lock()
	sub.removed = true
	for _, s := range sub.topics {
		h.dropLocked(sub, s)
	}
	sub.topics = nil
	h.mu.Unlock()
	sub.close()
}

// subscribersOf returns the present subscribers to a topic.
func (h *Hub) subscribersOf(t Topic) []*Subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	var subs []*Subscriber
	if s := h.subscribers[t]; s != nil {
		subs = slices.AppendSeq(make([]*Subscriber, 0, len(s.subs)), maps.Keys(s.subs))
	}
	if slices.Contains(allLists, t) {
		for session := range h.sessions {
			subs = append(subs, h.sessionLocked(session))
		}
	}
	return subs
}

// ListChanged announces changes of lists, here and to the other replicas.
func (h *Hub) ListChanged(changed []Feature) {
	h.notifyLists(changed)
	h.replicas.listChanged(changed)
}

// ListChangedFor announces a change of the list with the notification method to the subscribers
// of this replica that match.
func (h *Hub) ListChangedFor(method string, match func(Listener) bool) {
	list := Topic{method: method}
	e := newEvent(list)
	for _, sub := range h.subscribersOf(list) {
		if match(sub) {
			sub.offer(e, e)
		}
	}
}

// ListChangedIn announces a change of the list with the notification method to one session.
func (h *Hub) ListChangedIn(method string, session *exchange.Session) {
	if sub := h.Session(session, session.Agreed()); sub != nil {
		e := newEvent(Topic{method: method})
		sub.offer(e, e)
	}
}

// notifyLists offers one event per list to the subscribers that may see a changed feature.
func (h *Hub) notifyLists(changed []Feature) {
	for _, t := range allLists {
		of := slices.DeleteFunc(slices.Clone(changed), func(f Feature) bool { return f.Method != t.method })
		if len(of) == 0 {
			continue
		}
		visible := h.oncePerCaller(func(who *mcp.Identity) bool {
			return slices.ContainsFunc(of, func(f Feature) bool { return f.VisibleTo(who) })
		})
		e := newEvent(t)
		for _, sub := range h.subscribersOf(t) {
			if visible(sub.Identity()) {
				sub.offer(e, e)
			}
		}
	}
}

// Updated announces a resource that has changed, here and to the other replicas.
func (h *Hub) Updated(uri string) {
	h.notifyUpdated(uri)
	h.replicas.updated(uri)
}

// notifyUpdated notifies the subscribers of a resource, and the subscribers of its parents that
// may read the resource itself. A subscriber is not notified of a resource that is hidden from
// it.
func (h *Hub) notifyUpdated(uri string) {
	exists, mayRead := h.server.Resource(uri)
	mayRead = h.oncePerCaller(mayRead)
	e := newEvent(ResourceTopic(uri))
	for watched := range itselfAndParents(uri) {
		whole := newEvent(ResourceTopic(watched))
		for _, sub := range h.subscribersOf(ResourceTopic(watched)) {
			if !exists && watched == uri || mayRead(sub.Identity()) {
				sub.offer(e, whole)
			}
		}
	}
}

// UpdatedFor notifies one subscriber, if it has subscribed to a resource or to a parent
// of it.
func (h *Hub) UpdatedFor(sub *Subscriber, uri string) {
	for watched := range itselfAndParents(uri) {
		if h.IsSubscribed(sub, ResourceTopic(watched)) {
			sub.offer(newEvent(ResourceTopic(uri)), newEvent(ResourceTopic(watched)))
		}
	}
}

// IsSubscribed reports whether a subscriber has subscribed to a topic itself.
func (h *Hub) IsSubscribed(sub *Subscriber, t Topic) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.isSubscribedLocked(sub, t)
}

func (h *Hub) isSubscribedLocked(sub *Subscriber, t Topic) bool {
	s := h.subscribers[t]
	return s != nil && s.subs[sub] != nil
}

// notifyAll notifies the subscribers of every matching topic. It is used when changes may have
// been missed.
func (h *Hub) notifyAll(matches func(Topic) bool) {
	h.mu.Lock()
	topics := slices.Collect(maps.Keys(h.subscribers))
	h.mu.Unlock()
	topics = slices.DeleteFunc(topics, func(t Topic) bool { return slices.Contains(allLists, t) })
	for _, t := range append(topics, allLists...) {
		if !matches(t) {
			continue
		}
		e := newEvent(t)
		for _, sub := range h.subscribersOf(t) {
			sub.offer(e, e)
		}
	}
}

// itselfAndParents yields a URI and its possible parents, such as notes://a and notes://a/ for
// notes://a/b.
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

// oncePerCaller returns f with a cache of its results per caller. f may call a Visible
// function of the author: a panic is logged, and the result is false.
func (h *Hub) oncePerCaller(f func(*mcp.Identity) bool) func(*mcp.Identity) bool {
	known := make(map[*mcp.Identity]bool)
	return func(who *mcp.Identity) bool {
		answer, asked := known[who]
		if !asked {
			if err := usercode.Run(func() error { answer = f(who); return nil }); err != nil {
				h.failed(context.Background(), "function of Visible failed", err)
			}
			known[who] = answer
		}
		return answer
	}
}

// failed logs the panic of an author's function.
func (h *Hub) failed(ctx context.Context, what string, err error, attrs ...slog.Attr) {
	h.server.Logger().LogAttrs(ctx, slog.LevelError, what, append(attrs, usercode.Attrs(err)...)...)
}
