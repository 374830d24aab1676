package changes

import (
	"errors"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// Reasons for which a subscription is refused, besides those of limit.Pool, or ends.
var (
	// ErrTooMany reports that the subscriber has reached its limit of topics.
	ErrTooMany = errors.New("the subscriber has reached its limit of topics")
	// ErrRemoved reports that the subscriber was removed.
	ErrRemoved = errors.New("the subscriber was removed")
	// ErrEvicted ends Serve when the subscriptions make room for those of another owner.
	ErrEvicted = errors.New("the subscription was ended to make room for another owner")
)

// watchUnit is how many bytes of a URI count as one watched resource, so that the bound
// on watched resources bounds the memory of their URIs.
const watchUnit = 256

// watch is what one call of Subscribe holds among all that is watched. It ends with its
// last topic, or earlier as a whole, when the Pool takes its place.
type watch struct {
	hub *Hub
	sub *Subscriber

	// Guarded by the hub's mu.
	place   *limit.Place // nil until the Pool has given it
	topics  int
	evicted bool
}

// watchSize returns how much the topics count for. Lists count for nothing: their number
// is small, and the bounds on sessions and streams bound those who subscribe.
func watchSize(topics []Topic, bytes int) int {
	units := func(bytes int) int { return (bytes + watchUnit - 1) / watchUnit }
	size := units(bytes)
	for _, t := range topics {
		if t.method == mcp.NotificationResourceUpdated {
			size += max(units(len(t.subject)), 1)
		}
	}
	return size
}

// startWatch takes the place for topics of a subscriber.
func (h *Hub) startWatch(sub *Subscriber, topics []Topic, bytes int) (*watch, error) {
	w := &watch{hub: h, sub: sub}
	size := watchSize(topics, bytes)
	if size == 0 {
		return w, nil
	}
	place, err := h.watches.Take(sub.owner, size, w.evict)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	w.place = place
	return w, nil
}

// dropLocked counts one topic less. The last one frees the place.
func (w *watch) dropLocked() {
	if w.topics--; w.topics == 0 {
		w.place.Release()
	}
}

// evict ends the subscriptions, because the place goes to another owner. A listen request
// ends as a whole. A session is notified of each resource once more, so that its client
// knows the resource as it was when the subscription ended.
func (w *watch) evict() {
	h := w.hub
	h.mu.Lock()
	w.evicted = true
	var lost []Topic
	for _, s := range w.sub.topics {
		if s.subs[w.sub] == w {
			lost = append(lost, s.topic)
		}
	}
	for _, t := range lost {
		h.unsubscribeLocked(w.sub, t)
	}
	h.mu.Unlock()
	h.server.Evicted(w.sub.owner.Principal())
	if w.sub.how == byServe {
		w.sub.fail(ErrEvicted)
		return
	}
	for _, t := range lost {
		e := newEvent(t)
		w.sub.offer(e, e)
	}
}
