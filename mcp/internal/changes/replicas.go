package changes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"log/slog"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

const (
	// busTimeout bounds one publication, and how long a subscriber waits for the
	// server's own subscription.
	busTimeout = 5 * time.Second
	// A server that cannot subscribe to its Bus tries again after a pause, which
	// doubles each time.
	minBusPause = 250 * time.Millisecond
	maxBusPause = 30 * time.Second
	// maxMessage bounds one message on the Bus, in bytes.
	maxMessage = 64 << 10
)

// localUser is the identity of the replicas, which get every event.
var localUser = &mcp.Identity{Principal: mcp.PrincipalLocal}

// replicas connects the other servers with the same name on the same Bus. Events of this
// server are published to them, and events that they publish are delivered here. replicas is
// a Listener that is subscribed to everything, so that a slow Bus delays no other subscriber.
type replicas struct {
	hub      *Hub
	bus      mcp.Bus // nil for a server without replicas
	topic    string
	instance string
	out      *Subscriber

	begin      sync.Once     // starts the subscription for the first subscriber
	subscribed chan struct{} // closed when the subscription exists or was given up
	leave      func()        // ends the subscription; set before subscribed is closed, or nil
	ctx        context.Context
	cancel     context.CancelFunc
	end        sync.Once
}

// notice is one announcement on the Bus.
type notice struct {
	From   string `json:"from"`
	Method string `json:"method"`
	// Subject is the URI of a resource, or the key of a feature that is hidden from some
	// callers. If it is empty the notice refers to the whole list, or to any resource.
	Subject string `json:"subject,omitzero"`
}

// OpenReplicas connects the servers with one name over a Bus. instance is unique to each of
// them. It is called at most once, before the first change.
func (h *Hub) OpenReplicas(bus mcp.Bus, name, instance string) {
	digest := sha256.Sum256([]byte(name))
	r := &h.replicas
	r.hub, r.bus, r.instance = h, bus, instance
	r.topic = "changes." + hex.EncodeToString(digest[:16])
	r.subscribed = make(chan struct{})
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.out = newSubscriber(r, limit.Owner{}, byGoroutine)
}

// listChanged publishes changes of lists. It names a feature that is hidden from some callers
// by its key, and each replica uses its own feature to determine who may see it.
func (r *replicas) listChanged(changed []Feature) {
	if r.bus == nil {
		return
	}
	for _, f := range changed {
		e := newEvent(Topic{f.Method, f.Key})
		r.out.offer(e, e)
	}
}

func (r *replicas) updated(uri string) {
	if r.bus != nil {
		r.out.offer(newEvent(ResourceTopic(uri)), newEvent(ResourceTopic("")))
	}
}

// Identity implements Listener.
func (r *replicas) Identity() *mcp.Identity { return localUser }

// Client implements Listener.
func (r *replicas) Client() (mcp.Revision, *mcp.ClientCapabilities) { return mcp.Revision{}, nil }

// Deliver implements Listener: it publishes one event. If that fails the event is lost; a Bus
// may lose any event.
func (r *replicas) Deliver(ctx context.Context, e *Event) error {
	subject := e.topic.subject
	if len(subject) > maxMessage/2 { // escapes could exceed the limit
		subject = ""
	}
	msg, err := json.Marshal(notice{r.instance, e.topic.method, subject})
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, busTimeout)
		defer cancel()
		err = r.bus.Publish(ctx, r.topic, msg)
	}
	if err != nil {
		r.hub.server.Logger().LogAttrs(ctx, slog.LevelWarn, "cannot publish a change to other replicas",
			append(usercode.Attrs(err), slog.String("method", e.topic.method))...)
	}
	return nil
}

// SubscribeBus starts the subscription to the events of other replicas. It does not wait.
func (h *Hub) SubscribeBus() {
	if r := &h.replicas; r.bus != nil {
		r.begin.Do(func() { h.server.Go(r.subscribe) })
	}
}

// AwaitBus calls SubscribeBus and waits for the subscription, for at most 5 s, so that a
// subscriber misses nothing.
func (h *Hub) AwaitBus(ctx context.Context) {
	r := &h.replicas
	if r.bus == nil {
		return
	}
	h.SubscribeBus()
	timer := time.NewTimer(busTimeout)
	defer timer.Stop()
	select {
	case <-r.subscribed:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// subscribe subscribes to the Bus until that succeeds or the server is shut down.
// After a failure subscribers may have missed something, so they are notified of
// everything.
func (r *replicas) subscribe() {
	defer close(r.subscribed)
	for pause := minBusPause; ; pause = min(2*pause, maxBusPause) {
		leave, err := r.bus.Subscribe(r.ctx, r.topic, r.receive)
		if err == nil {
			r.leave = leave
			if pause > minBusPause {
				r.hub.notifyAll(func(Topic) bool { return true })
			}
			return
		}
		r.hub.server.Logger().LogAttrs(r.ctx, slog.LevelWarn, "changes that other replicas announce are not heard of",
			append(usercode.Attrs(err), slog.Duration("pause", pause))...)
		select {
		case <-time.After(pause):
		case <-r.ctx.Done():
			return
		}
	}
}

// receive delivers an event of another replica to the subscribers of this server.
func (r *replicas) receive(msg []byte) {
	var n notice
	if err := json.Unmarshal(msg, &n); err != nil || n.From == r.instance {
		return
	}
	switch {
	case n.Method == mcp.NotificationResourceUpdated && n.Subject == "":
		r.hub.notifyAll(func(t Topic) bool { return t.method == n.Method })
	case n.Method == mcp.NotificationResourceUpdated:
		r.hub.notifyUpdated(n.Subject)
	default:
		r.hub.notifyLists(r.hub.server.Features(n.Method, n.Subject))
	}
}

// CloseBus ends the subscription to the Bus.
func (h *Hub) CloseBus() {
	r := &h.replicas
	if r.bus == nil {
		return
	}
	r.end.Do(func() {
		r.cancel()
		r.begin.Do(func() { close(r.subscribed) })
		h.server.Go(func() {
			if <-r.subscribed; r.leave != nil {
				r.leave()
			}
		})
	})
}

// FlushBus waits until all events of this server are published. Later events are not
// published.
func (h *Hub) FlushBus(ctx context.Context) error {
	if h.replicas.bus == nil {
		return nil
	}
	return h.replicas.out.flush(ctx)
}
