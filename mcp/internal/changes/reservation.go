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

// bytesPerUnit is how many bytes of a URI count as one resource, so that the limit of
// subscribed resources also limits the memory of their URIs.
const bytesPerUnit = 256

// reservation is what one call of Subscribe takes of the Pool of all subscriptions. It ends
// with its last topic, or earlier as a whole, when the Pool evicts it for another owner.
type reservation struct {
	hub *Hub
	sub *Subscriber

	// Guarded by the hub's mu.
	place   *limit.Place // nil until the Pool has given it
	topics  int
	evicted bool
}

// reservationSize returns how many units the topics count for. Lists count for none: there
// are few, and the limits of sessions and streams limit their subscribers.
func reservationSize(topics []Topic, bytes int) int {
	units := func(bytes int) int { return (bytes + bytesPerUnit - 1) / bytesPerUnit }
	size := units(bytes)
	for _, t := range topics {
		if t.method == mcp.NotificationResourceUpdated {
			size += max(units(len(t.subject)), 1)
		}
	}
	return size
}

// reserve takes the units for topics of a subscriber from the Pool.
func (h *Hub) reserve(sub *Subscriber, topics []Topic, bytes int) (*reservation, error) {
	r := &reservation{hub: h, sub: sub}
	size := reservationSize(topics, bytes)
	if size == 0 {
		return r, nil
	}
	place, err := h.pool.Take(sub.owner, size, r.evict)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r.place = place
	return r, nil
}

// dropLocked removes one topic. The last one frees the units.
func (r *reservation) dropLocked() {
	if r.topics--; r.topics == 0 {
		r.place.Release()
	}
}

// evict ends the subscriptions, because the place goes to another owner. A listen request
// ends as a whole. A session is notified of each resource once more, so that its client
// knows the resource as it was when the subscription ended.
func (r *reservation) evict() {
	h := r.hub
	h.mu.Lock()
	r.evicted = true
	var lost []Topic
	for _, s := range r.sub.topics {
		if s.subs[r.sub] == r {
			lost = append(lost, s.topic)
		}
	}
	for _, t := range lost {
		h.unsubscribeLocked(r.sub, t)
	}
	h.mu.Unlock()
	h.server.Evicted(r.sub.owner.Principal())
	if r.sub.how == byServe {
		r.sub.Fail(ErrEvicted)
		return
	}
	for _, t := range lost {
		e := newEvent(t)
		r.sub.offer(e, e)
	}
}
