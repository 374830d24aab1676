package mcptest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// errNotYet is returned to eventually while something has not happened.
var errNotYet = errors.New("it has not happened")

// restart stops the server and starts it again.
func (c *faultCheck) restart() {
	c.writeBefore()
	subscriptions := c.subscribeAll()
	c.engine.Stop()
	c.callsFail("the server is stopped")
	c.engine.Start()
	c.callsWork()
	if !c.engine.Volatile {
		c.readAfter()
		c.expiresAfterRestart()
	}
	subscriptions.deliver(c)
}

// expiresAfterRestart checks that a restart does not make a value stay. It stops the server
// once more, for a shorter time.
func (c *faultCheck) expiresAfterRestart() {
	c.Helper()
	s := c.replicas[0].store
	if s == nil {
		return
	}
	c.eventually("Put", func(ctx context.Context) error { return s.Put(ctx, c.prefix+"expiring", []byte("1"), 2*storeTTL) })
	c.engine.Stop()
	c.engine.Start()
	c.expires(s, c.prefix+"expiring")
}

// writeBefore writes values and events that have to survive.
func (c *faultCheck) writeBefore() {
	c.Helper()
	r := c.replicas[0]
	if r.store != nil {
		for key, ttl := range map[string]time.Duration{"kept": 0, "long": time.Hour, "short": storeTTL} {
			if err := r.store.Put(c.Context(), c.prefix+key, []byte(key), ttl); err != nil {
				c.Fatalf("Put: %v", err)
			}
		}
	}
	if r.events != nil {
		for n := int64(1); n <= 3; n++ {
			if err := r.events.Append(c.Context(), c.stream("kept"), n, []byte("event")); err != nil {
				c.Fatalf("Append: %v", err)
			}
		}
	}
}

// readAfter checks that what writeBefore has written is there, and that it expires.
func (c *faultCheck) readAfter() {
	c.Helper()
	r := c.replicas[1]
	if r.store != nil {
		for _, key := range []string{"kept", "long"} {
			if value, found, ok := c.value(r.store, c.prefix+key); ok && (!found || string(value) != key) {
				c.Errorf("Get %q: got %q, %v, want what was written before", key, value, found)
			}
		}
		c.expires(r.store, c.prefix+"short")
		if keys, err := r.store.List(c.Context(), c.prefix+"kept", "", 10); err != nil || len(keys) != 1 {
			c.Errorf("List: got %q, %v, want the key that was written before", keys, err)
		}
	}
	if r.events != nil {
		if msgs, err := r.events.After(c.Context(), c.stream("kept"), 0); err != nil || len(msgs) != 3 {
			c.Errorf("After: got %d events, %v, want the 3 of before", len(msgs), err)
		}
	}
}

// expires waits until a value has expired.
func (c *faultCheck) expires(s mcp.Store, key string) {
	c.Helper()
	for begun := time.Now(); ; time.Sleep(storeTTL / 20) {
		_, found, ok := c.value(s, key)
		if !ok || !found {
			return
		}
		if time.Since(begun) > storeWait {
			c.Errorf("a value with a ttl of %v is there after %v", storeTTL, storeWait)
			return
		}
	}
}

// subscriptions are one of each replica to one topic.
type subscriptions struct {
	topic   string
	cancels []func()
	got     [2][2]atomic.Int64 // messages of a replica to a replica
}

// subscribeAll subscribes on each replica. It returns nil if the engine has no Bus.
func (c *faultCheck) subscribeAll() *subscriptions {
	c.Helper()
	if c.replicas[0].bus == nil {
		return nil
	}
	s := &subscriptions{topic: c.prefix + "restart"}
	for i, r := range c.replicas {
		cancel, err := r.bus.Subscribe(c.Context(), s.topic, func(msg []byte) { s.got[msg[0]-'0'][i].Add(1) })
		if err != nil {
			c.Fatalf("Subscribe: %v", err)
		}
		c.Cleanup(cancel)
		s.cancels = append(s.cancels, cancel)
	}
	return s
}

// deliver checks that new messages of each replica reach each replica.
func (s *subscriptions) deliver(c *faultCheck) {
	c.Helper()
	if s == nil {
		return
	}
	for from, r := range c.replicas {
		for to := range c.replicas {
			before := s.got[from][to].Load()
			c.eventually(fmt.Sprintf("a message of replica %d to replica %d", from+1, to+1), func(ctx context.Context) error {
				if err := r.bus.Publish(ctx, s.topic, number(from)); err != nil {
					return err
				}
				time.Sleep(faultTimeout / 10)
				if s.got[from][to].Load() == before {
					return errNotYet
				}
				return nil
			})
		}
	}
}
