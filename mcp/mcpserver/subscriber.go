package mcpserver

import (
	"context"
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

// listener is where a subscriber hears: a session, a listen request, or the Bus.
type listener interface {
	Identity() *mcp.Identity // by whose credentials it hears, as they are now
	deliver(ctx context.Context, e *event) error
}

// subscriber is one listener. What it has still to hear is one event per topic, so
// a slow one costs little and delays nobody. A topic goes through phases:
//
//	unknown ── offer ──> ready ── take ──> silent ── offer ──> waiting
//	   ^                   ^                 │ 50 ms              │ 50 ms
//	   └───────────────────┼─────────────────┘                    │
//	                       └──────────────────────────────────────┘
type subscriber struct {
	listener
	how delivery

	// Guarded by the lock of the hub.
	lists   bool        // it hears of every list
	hears   []*audience // of what else
	text    int         // bytes of their subjects
	removed bool

	mu      sync.Mutex
	phases  map[topic]phase
	ready   []*event           // in the order in which they became it
	told    []told             // of the silent and waiting topics, the oldest first
	waiting int                // how many topics are
	later   *time.Timer        // runs while any is; may be nil
	closed  bool               // nothing more is queued
	running bool               // somebody delivers
	cancel  context.CancelFunc // of the goroutine that delivers; may be nil
	idle    sync.WaitGroup     // of whoever delivers, unless it is serve
	wake    chan struct{}      // one token for serve: something is ready
}

// delivery says who delivers to a subscriber.
type delivery int

const (
	served  delivery = iota // serve, for as long as the subscriber lives
	spawned                 // a goroutine, while something is ready
	offered                 // whoever offers something, since that takes no time
)

// phase is where a topic is, if anything was offered of it lately.
type phase int

const (
	unknown phase = iota
	ready         // its event is to be delivered
	silent        // its event was delivered less than coalesce ago
	waiting       // besides, there is another
)

// told is an event that was delivered, and when another of its topic may be.
type told struct {
	event *event
	until time.Time
}

func newSubscriber(to listener, how delivery) *subscriber {
	s := &subscriber{listener: to, how: how}
	if how == served {
		s.wake = make(chan struct{}, 1)
	}
	return s
}

// offer queues an event, unless one of its topic is queued, which says the same.
// When too many are, it is the event of the whole that it is a part of.
func (s *subscriber) offer(e, whole *event) {
	s.mu.Lock()
	if s.phases[e.topic] != ready && s.phases[e.topic] != waiting && len(s.ready)+s.waiting >= maxParts {
		e = whole
	}
	deliver := !s.closed && s.queue(e) && s.rouse()
	s.mu.Unlock()
	if deliver {
		s.drain(context.Background())
	}
}

// retract drops what is queued of a topic.
func (s *subscriber) retract(t topic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.phases[t] {
	case ready:
		delete(s.phases, t)
		s.ready = slices.DeleteFunc(s.ready, func(e *event) bool { return e.topic == t })
	case waiting:
		s.phases[t] = silent
		s.waiting--
	}
}

// take returns the events to deliver now. Whoever delivers goes on until there is
// none.
func (s *subscriber) take() []*event {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := s.ready
	s.ready = nil
	s.running = len(events) > 0
	if s.running {
		s.hush(events, time.Now())
	}
	return events
}

// rest returns all that is queued, whatever is silent.
func (s *subscriber) rest() []*event {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.speak(func(told) bool { return true })
	events := s.ready
	s.ready = nil
	return events
}

// drain delivers until nothing is ready.
func (s *subscriber) drain(ctx context.Context) {
	defer s.idle.Done()
	for events := s.take(); len(events) > 0; events = s.take() {
		_ = s.send(ctx, events) // fails when the session has ended
	}
}

// serve delivers events until ctx ends, which is an error, or until the server or
// the way to the client ends, which closes a channel. What is queued at the end is
// delivered first.
func (s *subscriber) serve(ctx context.Context, end, leaving <-chan struct{}) error {
	for {
		select {
		case <-s.wake:
			if err := s.send(ctx, s.take()); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end:
			return s.send(ctx, s.rest())
		case <-leaving:
			return s.send(ctx, s.rest())
		}
	}
}

func (s *subscriber) send(ctx context.Context, events []*event) error {
	for _, e := range events {
		if err := s.deliver(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// close drops what is queued and waits for what is being delivered.
func (s *subscriber) close() {
	s.mu.Lock()
	s.closed = true
	s.ready = nil
	if s.later != nil {
		s.later.Stop()
	}
	if s.cancel != nil {
		s.cancel()
	}
	s.mu.Unlock()
	s.idle.Wait()
}

// finish has a goroutine deliver all that is queued and waits for it, no longer than
// ctx: the delivery may be user code that waits for finish. Nothing more can be
// offered.
func (s *subscriber) finish(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.speak(func(told) bool { return true })
	s.rouse()
	cancel := s.cancel
	s.mu.Unlock()
	defer context.AfterFunc(ctx, cancel)()
	delivered := make(chan struct{})
	go func() { // ends with the delivery, whose context has ended with ctx
		defer close(delivered)
		s.idle.Wait()
	}()
	select {
	case <-delivered:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// resume is what the timer runs: topics that were silent are not any more.
func (s *subscriber) resume() {
	s.mu.Lock()
	now := time.Now()
	s.speak(func(t told) bool { return !now.Before(t.until) })
	s.sleep()
	deliver := !s.closed && len(s.ready) > 0 && s.rouse()
	s.mu.Unlock()
	if deliver {
		s.drain(context.Background())
	}
}

// The methods below need the lock.

// queue reports whether the event is ready to be delivered now.
func (s *subscriber) queue(e *event) bool {
	now := time.Now()
	s.speak(func(t told) bool { return !now.Before(t.until) })
	switch s.phases[e.topic] {
	case unknown:
		if s.phases == nil {
			s.phases = make(map[topic]phase)
		}
		s.phases[e.topic] = ready
		s.ready = append(s.ready, e)
		return true
	case silent:
		s.phases[e.topic] = waiting
		s.waiting++
		if s.waiting == 1 {
			s.sleep()
		}
	}
	return false
}

// hush makes the topics of events silent from now on.
func (s *subscriber) hush(events []*event, now time.Time) {
	for _, e := range events {
		s.phases[e.topic] = silent
		s.told = append(s.told, told{e, now.Add(coalesce)})
	}
}

// speak ends the silence of the oldest topics, as long as it is over.
func (s *subscriber) speak(over func(told) bool) {
	for len(s.told) > 0 && over(s.told[0]) {
		e := s.told[0].event
		if s.phases[e.topic] == waiting {
			s.phases[e.topic] = ready
			s.ready = append(s.ready, e)
			s.waiting--
		} else {
			delete(s.phases, e.topic)
		}
		s.told = s.told[1:]
	}
}

// sleep sets the timer for the topic that is silent for longest, while any waits.
func (s *subscriber) sleep() {
	switch {
	case s.waiting == 0:
	case s.later == nil:
		s.later = time.AfterFunc(time.Until(s.told[0].until), s.resume)
	default:
		s.later.Reset(time.Until(s.told[0].until))
	}
}

// rouse has what is ready delivered, and reports whether the caller is to do it.
func (s *subscriber) rouse() bool {
	switch {
	case s.how == served:
		select {
		case s.wake <- struct{}{}:
		default:
		}
		return false
	case s.running:
		return false
	}
	s.running = true
	s.idle.Add(1)
	if s.how == spawned {
		var ctx context.Context
		ctx, s.cancel = context.WithCancel(context.Background())
		go s.drain(ctx)
		return false
	}
	return true
}
