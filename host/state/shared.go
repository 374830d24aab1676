package state

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

const (
	// changeTopic carries the names of sections that have changed.
	changeTopic = "fondaco-host/changed"
	// markInterval is how often marks are read without a message.
	markInterval = 3 * time.Second
	// markTimeout is how long the marks may take to be read.
	markTimeout = 2 * time.Second
)

// Shared is an mcp.Store that several hosts share, and knows which of its sections have changed. A
// change is announced over a Bus, and a mark of the section is written, which is read every three
// seconds, because a Bus may lose messages. All methods are safe for concurrent use.
type Shared struct {
	mcp.Store
	marks    mcp.Store // what changes with each section, by its name
	bus      mcp.Bus
	sections []string // those whose changes are known

	wake     chan struct{} // has a value after a message
	mu       sync.Mutex
	versions map[string]string // guarded by mu: the last marks that were read, by section
}

var _ mcp.Store = (*Shared)(nil)

// Share returns a store that knows of the changes of some sections. Its values are in one store, and
// the marks in another; both have to keep others from changing them.
func Share(values, marks mcp.Store, bus mcp.Bus, sections ...string) *Shared {
	return &Shared{Store: values, marks: marks, bus: bus, sections: sections, wake: make(chan struct{}, 1), versions: make(map[string]string)}
}

// Version changes whenever an entry of a section was written or deleted by any host, and not when
// one has expired. It is known after Refresh.
func (s *Shared) Version(section string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions[section]
}

// Refresh reads the versions.
func (s *Shared) Refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, markTimeout)
	defer cancel()
	for _, section := range s.sections {
		mark, _, err := s.marks.Get(ctx, section)
		if err != nil {
			return wrap(err)
		}
		s.mu.Lock()
		s.versions[section] = string(mark)
		s.mu.Unlock()
	}
	return nil
}

// Watch keeps the versions current until ctx ends. failed is called with the first error of a
// row, and with nil when the store answers again; the versions then stay as they were.
func (s *Shared) Watch(ctx context.Context, failed func(error)) {
	cancel := func() {}
	defer func() { cancel() }()
	subscribed, broken := false, false
	tick := time.NewTicker(markInterval)
	defer tick.Stop()
	for {
		if !subscribed {
			if stop, err := s.bus.Subscribe(ctx, changeTopic, s.changed); err == nil {
				cancel, subscribed = stop, true
			}
		}
		err := s.Refresh(ctx)
		if ctx.Err() != nil {
			return
		}
		if broken != (err != nil) {
			broken = err != nil
			failed(err)
		}
		select {
		case <-tick.C:
		case <-s.wake:
		case <-ctx.Done():
			return
		}
	}
}

// changed is called with each message. What it says is read from the store.
func (s *Shared) changed([]byte) {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// mark makes a change of the section of a key known. If it fails, the change has happened, and
// whoever has made it has to make it again.
func (s *Shared) mark(ctx context.Context, key string) error {
	section := sectionOf(key)
	if !slices.Contains(s.sections, section) {
		return nil
	}
	if err := s.marks.Put(ctx, section, []byte(rand.Text()), 0); err != nil {
		return wrap(err)
	}
	_ = s.bus.Publish(ctx, changeTopic, []byte(section)) // otherwise the mark is read within markInterval
	return nil
}

// Sealed reports whether the values are encrypted and authenticated.
func (s *Shared) Sealed() bool {
	values, ok := s.Store.(interface{ Sealed() bool })
	return ok && values.Sealed()
}

// Put implements mcp.Store.
func (s *Shared) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if err := s.Store.Put(ctx, key, value, ttl); err != nil {
		return wrap(err)
	}
	return s.mark(ctx, key)
}

// Create implements mcp.Store.
func (s *Shared) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (created bool, err error) {
	if created, err = s.Store.Create(ctx, key, value, ttl); err != nil || !created {
		return created, wrap(err)
	}
	return true, s.mark(ctx, key)
}

// Swap implements mcp.Store.
func (s *Shared) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (swapped bool, err error) {
	if swapped, err = s.Store.Swap(ctx, key, old, value, ttl); err != nil || !swapped {
		return swapped, wrap(err)
	}
	return true, s.mark(ctx, key)
}

// Delete implements mcp.Store.
func (s *Shared) Delete(ctx context.Context, key string) error {
	if err := s.Store.Delete(ctx, key); err != nil {
		return wrap(err)
	}
	return s.mark(ctx, key)
}
