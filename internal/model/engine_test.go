package model_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// engine is a Store, a Bus and an EventStore in memory. Replicas use it by their links.
type engine struct {
	seed  uint64
	store mcpserver.MemoryStore

	mu          sync.Mutex
	endless     map[string]bool             // guarded by mu: keys that were written without an expiry
	events      map[string]map[int64][]byte // guarded by mu: by stream and number
	subscribers map[string][]*subscriber    // guarded by mu: by topic, in the order of their subscription
	latest      map[[2]*link]time.Time      // guarded by mu: of the messages from one link to another
	bus         busFaults                   // guarded by mu
}

// busFaults are what happens to messages of the Bus, in percent.
type busFaults struct{ lost, late, doubled, reordered int }

func newEngine(seed uint64) *engine {
	return &engine{
		seed: seed, endless: make(map[string]bool), events: make(map[string]map[int64][]byte),
		subscribers: make(map[string][]*subscriber), latest: make(map[[2]*link]time.Time),
	}
}

func (e *engine) setBus(f busFaults) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.bus = f
}

// withoutExpiry returns the keys that have a value and do not expire.
func (e *engine) withoutExpiry() (keys []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key := range e.endless {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// written notes whether a key expires.
func (e *engine) written(key string, ttl time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.endless, key)
	if ttl == 0 {
		e.endless[key] = true
	}
}

var errNoRoute = errors.New("engine: no connection")

func (l *link) Get(ctx context.Context, key string) (value []byte, found bool, err error) {
	err = l.call(ctx, func() (err error) {
		value, found, err = l.engine.store.Get(ctx, key)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return value, found, nil
}

func (l *link) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	return l.call(ctx, func() error {
		l.engine.written(key, ttl)
		return l.engine.store.Put(ctx, key, value, ttl)
	})
}

func (l *link) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	return l.conditional(ctx, key, ttl, func() (bool, error) { return l.engine.store.Create(ctx, key, value, ttl) })
}

func (l *link) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
	return l.conditional(ctx, key, ttl, func() (bool, error) { return l.engine.store.Swap(ctx, key, old, value, ttl) })
}

func (l *link) conditional(ctx context.Context, key string, ttl time.Duration, write func() (bool, error)) (done bool, err error) {
	err = l.call(ctx, func() (err error) {
		if done, err = write(); done {
			l.engine.written(key, ttl)
		}
		return err
	})
	return done && err == nil, err
}

func (l *link) Delete(ctx context.Context, key string) error {
	return l.call(ctx, func() error {
		l.engine.written(key, 1)
		return l.engine.store.Delete(ctx, key)
	})
}

func (l *link) List(ctx context.Context, prefix, after string, limit int) (keys []string, err error) {
	err = l.call(ctx, func() (err error) {
		keys, err = l.engine.store.List(ctx, prefix, after, limit)
		return err
	})
	return keys, err
}

func (l *link) Append(ctx context.Context, stream string, n int64, msg []byte) error {
	return l.call(ctx, func() error {
		e := l.engine
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.events[stream] == nil {
			e.events[stream] = make(map[int64][]byte)
		}
		e.events[stream][n] = msg
		return nil
	})
}

func (l *link) After(ctx context.Context, stream string, n int64) (msgs [][]byte, err error) {
	err = l.call(ctx, func() error {
		e := l.engine
		e.mu.Lock()
		defer e.mu.Unlock()
		var numbers []int64
		for number := range e.events[stream] {
			if number > n {
				numbers = append(numbers, number)
			}
		}
		slices.Sort(numbers)
		for _, number := range numbers {
			msgs = append(msgs, e.events[stream][number])
		}
		return nil
	})
	return msgs, err
}

func (l *link) Trim(ctx context.Context, stream string, n int64) error {
	return l.call(ctx, func() error {
		e := l.engine
		e.mu.Lock()
		defer e.mu.Unlock()
		if n == math.MaxInt64 {
			delete(e.events, stream)
		}
		for number := range e.events[stream] {
			if number <= n {
				delete(e.events[stream], number)
			}
		}
		return nil
	})
}

var (
	_ mcp.Store      = (*link)(nil)
	_ mcp.Bus        = (*link)(nil)
	_ mcp.EventStore = (*link)(nil)
)
