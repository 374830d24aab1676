package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"log/slog"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/registry"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

const (
	// busTimeout bounds one publication, and how long a subscriber waits for the
	// server's own subscription.
	busTimeout = 5 * time.Second
	// A server that cannot subscribe to its Bus tries again after a pause, which
	// grows.
	minBusPause = 250 * time.Millisecond
	maxBusPause = 30 * time.Second
)

// replicas are the other servers of the same name on the same Bus. What is
// announced here they tell their subscribers, and the other way round. They are
// one more subscriber, to everything, so a slow Bus delays nobody either.
type replicas struct {
	hub   *hub
	bus   mcp.Bus // nil for a server that is alone
	topic string
	self  string
	out   *subscriber

	begin  sync.Once     // the subscription, when the first subscriber comes
	placed chan struct{} // closed when it is in place, or will not be any more
	leave  func()        // ends it; set before placed is closed, or nil
	ctx    context.Context
	cancel context.CancelFunc
	end    sync.Once
}

// notice is one announcement as the other replicas get it.
type notice struct {
	From   string `json:"from"`
	Method string `json:"method"`
	// Subject is the URI of a resource, or the key of a feature that not everybody
	// may know of; without it the notice is about the whole list, or any resource.
	Subject string `json:"subject,omitzero"`
}

// openReplicas opens the way over a Bus.
func (h *hub) openReplicas(bus mcp.Bus, name, self string) {
	digest := sha256.Sum256([]byte(name))
	r := &h.replicas
	r.hub, r.bus, r.self = h, bus, self
	r.topic = "changes." + hex.EncodeToString(digest[:16])
	r.placed = make(chan struct{})
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.out = newSubscriber(r, spawned)
}

// listChanged announces changes of lists. What not everybody may know of goes by
// its key, and each replica judges by its own feature who may hear of it.
func (r *replicas) listChanged(changes []registry.Change) {
	if r.bus == nil {
		return
	}
	for _, c := range changes {
		t := topic{method: listNote[c.Kind]}
		if c.Feature.Restricted() {
			t.subject = c.Feature.Key()
		}
		e := &event{topic: t}
		r.out.offer(e, e)
	}
}

func (r *replicas) updated(uri string) {
	if r.bus != nil {
		r.out.offer(&event{topic: updates(uri)}, &event{topic: updates("")})
	}
}

// Identity implements listener.
func (r *replicas) Identity() *mcp.Identity { return localUser }

// deliver publishes one event. One that the Bus refuses is lost, as the Bus may lose
// any.
func (r *replicas) deliver(ctx context.Context, e *event) error {
	subject := e.topic.subject
	if len(subject) > maxNotice/2 { // which escapes could make too large
		subject = ""
	}
	msg, err := json.Marshal(notice{r.self, e.topic.method, subject})
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, busTimeout)
		defer cancel()
		err = r.bus.Publish(ctx, r.topic, msg)
	}
	if err != nil {
		r.hub.server.options.logger().LogAttrs(ctx, slog.LevelWarn, "other replicas were not told of a change",
			append(usercode.Attrs(err), slog.String("method", e.topic.method))...)
	}
	return nil
}

// start begins to hear of what others announce.
func (r *replicas) start() {
	if r.bus != nil {
		r.begin.Do(func() { r.hub.server.drain.start(r.subscribe) })
	}
}

// follow is start that waits a little until it does hear, so that a subscriber
// misses nothing.
func (r *replicas) follow(ctx context.Context) {
	if r.bus == nil {
		return
	}
	r.start()
	timer := time.NewTimer(busTimeout)
	defer timer.Stop()
	select {
	case <-r.placed:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// subscribe subscribes to the Bus until that succeeds or the server is shut down.
// After a failure subscribers may have missed something, so they are told of
// everything.
func (r *replicas) subscribe() {
	defer close(r.placed)
	for pause := minBusPause; ; pause = min(2*pause, maxBusPause) {
		leave, err := r.bus.Subscribe(r.ctx, r.topic, r.take)
		if err == nil {
			r.leave = leave
			if pause > minBusPause {
				r.hub.tellAll(func(topic) bool { return true })
			}
			return
		}
		r.hub.server.options.logger().LogAttrs(r.ctx, slog.LevelWarn, "changes that other replicas announce are not heard of",
			append(usercode.Attrs(err), slog.Duration("pause", pause))...)
		select {
		case <-time.After(pause):
		case <-r.ctx.Done():
			return
		}
	}
}

// take tells the subscribers here what another replica announces.
func (r *replicas) take(msg []byte) {
	var n notice
	if err := json.Unmarshal(msg, &n); err != nil || n.From == r.self {
		return
	}
	switch {
	case n.Method == mcp.NotificationResourceUpdated && n.Subject == "":
		r.hub.tellAll(func(t topic) bool { return t.method == n.Method })
	case n.Method == mcp.NotificationResourceUpdated:
		r.hub.tellUpdated(n.Subject)
	default:
		r.hub.tellLists(r.changesOf(n.Method, n.Subject))
	}
}

// changesOf returns, as changes, the features of one key in the lists that a
// notification is about; without a key something that everybody sees.
func (r *replicas) changesOf(method, key string) (found []registry.Change) {
	for k := range registry.Kinds {
		if listNote[k] != method {
			continue
		}
		if key == "" {
			found = append(found, registry.Change{Kind: k, Feature: &tool{}})
		} else if f := r.hub.server.features.Registered(k, key); f != nil {
			found = append(found, registry.Change{Kind: k, Feature: f})
		}
	}
	return found
}

// close stops hearing of others, which the shutdown waits for.
func (r *replicas) close() {
	if r.bus == nil {
		return
	}
	r.end.Do(func() {
		r.cancel()
		r.begin.Do(func() { close(r.placed) })
		r.hub.server.drain.start(func() {
			if <-r.placed; r.leave != nil {
				r.leave()
			}
		})
	})
}

// flush waits until others have been told of what was announced here.
func (r *replicas) flush(ctx context.Context) error {
	if r.bus == nil {
		return nil
	}
	return r.out.finish(ctx)
}
