package mcpserver

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

const (
	// coalesce is how long a topic is silent after an event of it was sent, so
	// that of many in a row the first and the last are sent.
	coalesce = 50 * time.Millisecond
	// maxParts bounds the events that wait although nobody has asked for their
	// topic: of parts of what is watched.
	maxParts = 1024
)

// subscriber is one session or listen request. What it has still to hear is one
// event per topic, so a slow one costs little and delays nobody.
type subscriber struct {
	who     func() *mcp.Identity // as its credentials are now
	deliver func(context.Context, event) error
	spawn   bool // a goroutine delivers while there is something; otherwise serve does

	// Guarded by the lock of the hub.
	topics  map[topic]bool
	text    int // bytes of their subjects
	removed bool

	mu      sync.Mutex
	order   []topic             // of pending
	pending map[topic]event     // guarded by mu
	silent  map[topic]time.Time // until when; guarded by mu
	running bool                // guarded by mu
	closed  bool                // guarded by mu
	wake    chan struct{}       // one token: a topic has become pending
	ctx     context.Context
	cancel  context.CancelFunc
	idle    sync.WaitGroup
}

func newSubscriber(who func() *mcp.Identity, deliver func(context.Context, event) error) *subscriber {
	s := &subscriber{
		who: who, deliver: deliver,
		topics: make(map[topic]bool), pending: make(map[topic]event), silent: make(map[topic]time.Time),
		wake: make(chan struct{}, 1),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// offer queues an event, in place of an earlier one of its topic. When too many
// wait it is the event of the whole that it is a part of.
func (s *subscriber) offer(e, whole event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if _, queued := s.pending[e.topic]; !queued && len(s.order) >= maxParts {
		e = whole
	}
	if _, queued := s.pending[e.topic]; !queued {
		s.order = append(s.order, e.topic)
		s.rouse()
	}
	s.pending[e.topic] = e
}

// rouse has the subscriber delivered to. The caller holds mu.
func (s *subscriber) rouse() {
	if s.spawn && !s.running {
		s.running = true
		s.idle.Go(s.drain)
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// retract drops what waits of a topic.
func (s *subscriber) retract(t topic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, queued := s.pending[t]; queued {
		delete(s.pending, t)
		s.order = slices.DeleteFunc(s.order, func(other topic) bool { return other == t })
	}
}

// take returns the events to deliver now, in the order in which their topics
// became pending, and how long it is until something is to be done again; 0 is
// until something is offered.
func (s *subscriber) take() (events []event, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(s.silent, func(_ topic, until time.Time) bool { return !now.Before(until) })
	s.order = slices.DeleteFunc(s.order, func(t topic) bool {
		if _, silent := s.silent[t]; silent {
			return false
		}
		events = append(events, s.pending[t])
		delete(s.pending, t)
		if !s.closed {
			s.silent[t] = now.Add(coalesce)
		}
		return true
	})
	for _, until := range s.silent {
		if left := until.Sub(now); wait == 0 || left < wait {
			wait = left
		}
	}
	s.running = s.running && (len(events) > 0 || wait > 0)
	return events, wait
}

// rest returns the events that wait, whatever is silent.
func (s *subscriber) rest() []event {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.silent)
	events := make([]event, 0, len(s.order))
	for _, t := range s.order {
		events = append(events, s.pending[t])
	}
	s.order = nil
	clear(s.pending)
	return events
}

// drain delivers until nothing is pending and nothing is silent.
func (s *subscriber) drain() {
	for {
		events, wait := s.take()
		if len(events) == 0 && wait == 0 {
			return
		}
		_ = s.send(s.ctx, events) // fails when the session has ended
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-s.wake:
		case <-s.ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// serve delivers events until ctx ends, which is an error, or until the server or
// the way to the client ends, which closes a channel. What is pending at the end is
// delivered first.
func (s *subscriber) serve(ctx context.Context, end, leaving <-chan struct{}) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end:
			return s.send(ctx, s.rest())
		case <-leaving:
			return s.send(ctx, s.rest())
		case <-s.wake:
		case <-timer.C:
		}
		events, wait := s.take()
		if err := s.send(ctx, events); err != nil {
			return err
		}
		if wait > 0 {
			timer.Reset(wait)
		}
	}
}

func (s *subscriber) send(ctx context.Context, events []event) error {
	for _, e := range events {
		if err := s.deliver(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// close drops what is pending and waits for what is being delivered.
func (s *subscriber) close() {
	s.mu.Lock()
	s.closed = true
	s.order = nil
	clear(s.pending)
	s.mu.Unlock()
	s.cancel()
	s.idle.Wait()
}

// finish delivers what is pending at once and waits for it, no longer than ctx.
// Nothing more can be offered.
func (s *subscriber) finish(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	clear(s.silent)
	s.rouse()
	s.mu.Unlock()
	defer context.AfterFunc(ctx, s.cancel)()
	s.idle.Wait()
	return context.Cause(ctx)
}
