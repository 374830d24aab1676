package testengine

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// Counts are the calls of an engine, by name: those of mcp.Store (Get, Put, Create, Swap, Delete,
// List), of mcp.Bus (Publish; Deliver for each message that a subscriber gets) and of mcp.EventStore
// (Append, After, Trim). Beat is the Put by which a replica says that it is alive. Bytes are those of
// the messages that were published.
type Counts map[string]int

// Calls returns the number of calls without those that a replica makes at any rate (Beat), and
// without the messages that it gets (Deliver).
func (c Counts) Calls() (n int) {
	for name, count := range c {
		if name != "Beat" && name != "Deliver" && name != "Bytes" {
			n += count
		}
	}
	return n
}

// Add adds the calls of another process.
func (c Counts) Add(other Counts) {
	for name, count := range other {
		c[name] += count
	}
}

// Since returns the calls that were made after the earlier ones.
func (c Counts) Since(earlier Counts) Counts {
	since := make(Counts)
	for name, count := range c {
		if n := count - earlier[name]; n != 0 {
			since[name] = n
		}
	}
	return since
}

// Counter counts the calls of the engines that it wraps. It is safe for concurrent use.
type Counter struct {
	mu     sync.Mutex
	counts Counts // guarded by mu
}

// Counts returns the calls up to now.
func (c *Counter) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := maps.Clone(c.counts)
	if counts == nil {
		counts = make(Counts)
	}
	return counts
}

func (c *Counter) add(name string) { c.addMany(name, 1) }

func (c *Counter) addMany(name string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = make(Counts)
	}
	c.counts[name] += n
}

// Store returns a Store that counts the calls of s.
func (c *Counter) Store(s mcp.Store) mcp.Store { return countedStore{s, c} }

// Bus returns a Bus that counts the calls of b.
func (c *Counter) Bus(b mcp.Bus) mcp.Bus { return countedBus{b, c} }

// Events returns an EventStore that counts the calls of e.
func (c *Counter) Events(e mcp.EventStore) mcp.EventStore { return countedEvents{e, c} }

type countedStore struct {
	mcp.Store
	c *Counter
}

func (s countedStore) Get(ctx context.Context, key string) ([]byte, bool, error) {
	s.c.add("Get")
	return s.Store.Get(ctx, key)
}

func (s countedStore) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if strings.Contains(key, ".alive.") {
		s.c.add("Beat")
	} else {
		s.c.add("Put")
	}
	return s.Store.Put(ctx, key, value, ttl)
}

func (s countedStore) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	s.c.add("Create")
	return s.Store.Create(ctx, key, value, ttl)
}

func (s countedStore) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
	s.c.add("Swap")
	return s.Store.Swap(ctx, key, old, value, ttl)
}

func (s countedStore) Delete(ctx context.Context, key string) error {
	s.c.add("Delete")
	return s.Store.Delete(ctx, key)
}

func (s countedStore) List(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	s.c.add("List")
	return s.Store.List(ctx, prefix, after, limit)
}

type countedBus struct {
	mcp.Bus
	c *Counter
}

func (b countedBus) Publish(ctx context.Context, topic string, msg []byte) error {
	b.c.add("Publish")
	b.c.addMany("Bytes", len(msg))
	return b.Bus.Publish(ctx, topic, msg)
}

func (b countedBus) Subscribe(ctx context.Context, topic string, deliver func([]byte)) (func(), error) {
	return b.Bus.Subscribe(ctx, topic, func(msg []byte) {
		b.c.add("Deliver")
		deliver(msg)
	})
}

type countedEvents struct {
	mcp.EventStore
	c *Counter
}

func (e countedEvents) Append(ctx context.Context, stream string, n int64, msg []byte) error {
	e.c.add("Append")
	return e.EventStore.Append(ctx, stream, n, msg)
}

func (e countedEvents) After(ctx context.Context, stream string, n int64) ([][]byte, error) {
	e.c.add("After")
	return e.EventStore.After(ctx, stream, n)
}

func (e countedEvents) Trim(ctx context.Context, stream string, n int64) error {
	e.c.add("Trim")
	return e.EventStore.Trim(ctx, stream, n)
}
