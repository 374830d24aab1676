package changes

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

const (
	// cooldown is the minimum time between two events of one topic. Of many events in a row
	// the first and the last are delivered.
	cooldown = 50 * time.Millisecond
	// maxQueuedParts bounds the queued events of one subscriber for parts of resources, whose
	// number the limit of subscriptions does not bound.
	maxQueuedParts = 1024
)

// Listener is the destination of a subscriber's events: a session, a listen request, or the
// Bus.
type Listener interface {
	// Identity returns the current identity of the recipient.
	Identity() *mcp.Identity
	// Client returns the revision and the capabilities of the recipient. The capabilities
	// are nil if the recipient is not a client. They must not be modified.
	Client() (mcp.Revision, *mcp.ClientCapabilities)
	// Deliver sends an event.
	Deliver(ctx context.Context, e *Event) error
}

// Subscriber is one recipient of changes. Its queue has at most one event per topic, so that a
// slow recipient needs little memory and delays no other. A topic is in one of these states:
//
//	idle ── offer ──> ready ── take ──> cooling ── offer ──> pending
//	  ^                 ^                  │ 50 ms              │ 50 ms
//	  └─────────────────┼──────────────────┘                    │
//	                    └───────────────────────────────────────┘
type Subscriber struct {
	Listener
	owner limit.Owner // limits charge the subscriptions to it
	how   delivery

	// Guarded by the lock of the hub.
	lists   bool            // it is subscribed to every list
	topics  []*subscription // the others
	bytes   int             // of their URIs
	removed bool

	mu      sync.Mutex
	states  map[Topic]topicState
	ready   []*Event           // in the order in which they became ready
	cooling []delivered        // of the cooling and pending topics, the oldest first
	pending int                // how many topics are pending
	timer   *time.Timer        // runs while a topic is pending; may be nil
	closed  bool               // nothing more is queued
	failed  error              // ends Serve; nil until then
	running bool               // a goroutine delivers
	cancel  context.CancelFunc // of the goroutine that delivers; may be nil
	idle    sync.WaitGroup     // of the goroutines that deliver, except Serve
	wake    chan struct{}      // one token for Serve: an event is ready
}

// delivery says which goroutine delivers the events of a subscriber.
type delivery int

const (
	byServe     delivery = iota // Serve, for as long as the subscriber exists
	byGoroutine                 // a goroutine that runs while events are ready
	byOffer                     // the caller of offer; for listeners that do not block
)

// topicState is the state of a topic for one subscriber.
type topicState int

const (
	idle    topicState = iota
	ready              // its event is to be delivered
	cooling            // its event was delivered less than cooldown ago
	pending            // as cooling, and there is another event
)

// delivered is an event that was delivered, and the end of its cooldown.
type delivered struct {
	event *Event
	until time.Time
}

// NewSubscriber returns a subscriber whose events Serve delivers. Limits charge its
// subscriptions to the owner. It needs one Hub.Remove.
func NewSubscriber(to Listener, owner limit.Owner) *Subscriber {
	return newSubscriber(to, owner, byServe)
}

func newSubscriber(to Listener, owner limit.Owner, how delivery) *Subscriber {
	s := &Subscriber{Listener: to, owner: owner, how: how}
	if how == byServe {
		s.wake = make(chan struct{}, 1)
	}
	return s
}

// offer queues an event, unless an event of its topic is queued already. If the queue is full
// it queues whole instead, the event of the resource of which the topic is a part.
func (s *Subscriber) offer(e, whole *Event) {
	s.mu.Lock()
	if s.states[e.topic] != ready && s.states[e.topic] != pending && len(s.ready)+s.pending >= maxQueuedParts {
		e = whole
	}
	deliver := !s.closed && s.queueLocked(e) && s.startDeliveryLocked()
	s.mu.Unlock()
	if deliver {
		s.deliverReady(context.Background())
	}
}

// retract drops the queued event of a topic.
func (s *Subscriber) retract(t Topic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.states[t] {
	case ready:
		delete(s.states, t)
		s.ready = slices.DeleteFunc(s.ready, func(e *Event) bool { return e.topic == t })
	case pending:
		s.states[t] = cooling
		s.pending--
	}
}

// take returns the events to deliver now. If there are none, the calling goroutine must stop
// delivering.
func (s *Subscriber) take() []*Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := s.ready
	s.ready = nil
	s.running = len(events) > 0
	if s.running {
		s.startCooldownLocked(events, time.Now())
	}
	return events
}

// takeAll returns all queued events, also of cooling topics.
func (s *Subscriber) takeAll() []*Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expireCooldownsLocked(func(delivered) bool { return true })
	events := s.ready
	s.ready = nil
	return events
}

// deliverReady delivers until nothing is ready.
func (s *Subscriber) deliverReady(ctx context.Context) {
	defer s.idle.Done()
	for events := s.take(); len(events) > 0; events = s.take() {
		_ = s.deliver(ctx, events) // fails when the session has ended
	}
}

// Fail makes Serve return err. It does not wait.
func (s *Subscriber) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
	s.startDeliveryLocked()
}

func (s *Subscriber) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// Serve delivers events. It returns an error when ctx ends or the subscriptions are evicted
// (ErrEvicted). When one of the channels is closed it delivers the queued events and returns
// nil.
func (s *Subscriber) Serve(ctx context.Context, end, draining <-chan struct{}) error {
	for {
		select {
		case <-s.wake:
			if err := s.failure(); err != nil {
				return err
			}
			if err := s.deliver(ctx, s.take()); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end:
			return s.deliver(ctx, s.takeAll())
		case <-draining:
			return s.deliver(ctx, s.takeAll())
		}
	}
}

func (s *Subscriber) deliver(ctx context.Context, events []*Event) error {
	for _, e := range events {
		if err := s.Deliver(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// close drops the queued events and waits for deliveries in progress.
func (s *Subscriber) close() {
	s.mu.Lock()
	s.closed = true
	s.ready = nil
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.cancel != nil {
		s.cancel()
	}
	s.mu.Unlock()
	s.idle.Wait()
}

// flush delivers all queued events on a goroutine and waits for it until ctx ends, because
// the delivery may be user code that waits for flush. Later events are dropped.
func (s *Subscriber) flush(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed { // a second call waits for the delivery that the first one has started
		s.closed = true
		s.expireCooldownsLocked(func(delivered) bool { return true })
		s.startDeliveryLocked()
	}
	cancel := s.cancel
	s.mu.Unlock()
	defer context.AfterFunc(ctx, cancel)()
	done := make(chan struct{})
	go func() { // ends with the delivery, whose context has ended with ctx
		defer close(done)
		s.idle.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// endCooldowns is called by the timer.
func (s *Subscriber) endCooldowns() {
	s.mu.Lock()
	now := time.Now()
	s.expireCooldownsLocked(func(d delivered) bool { return !now.Before(d.until) })
	s.resetTimerLocked()
	deliver := !s.closed && len(s.ready) > 0 && s.startDeliveryLocked()
	s.mu.Unlock()
	if deliver {
		s.deliverReady(context.Background())
	}
}

// queueLocked reports whether the event is ready to be delivered now.
func (s *Subscriber) queueLocked(e *Event) bool {
	now := time.Now()
	s.expireCooldownsLocked(func(d delivered) bool { return !now.Before(d.until) })
	switch s.states[e.topic] {
	case idle:
		if s.states == nil {
			s.states = make(map[Topic]topicState)
		}
		s.states[e.topic] = ready
		s.ready = append(s.ready, e)
		return true
	case cooling:
		s.states[e.topic] = pending
		s.pending++
		if s.pending == 1 {
			s.resetTimerLocked()
		}
	}
	return false
}

// startCooldownLocked starts the cooldown of the topics of events.
func (s *Subscriber) startCooldownLocked(events []*Event, now time.Time) {
	for _, e := range events {
		s.states[e.topic] = cooling
		s.cooling = append(s.cooling, delivered{e, now.Add(cooldown)})
	}
}

// expireCooldownsLocked ends the cooldowns, oldest first, for which over returns true.
func (s *Subscriber) expireCooldownsLocked(over func(delivered) bool) {
	for len(s.cooling) > 0 && over(s.cooling[0]) {
		e := s.cooling[0].event
		if s.states[e.topic] == pending {
			s.states[e.topic] = ready
			s.ready = append(s.ready, e)
			s.pending--
		} else {
			delete(s.states, e.topic)
		}
		s.cooling = s.cooling[1:]
	}
}

// resetTimerLocked sets the timer for the oldest cooldown, while any topic is pending.
func (s *Subscriber) resetTimerLocked() {
	switch {
	case s.pending == 0:
	case s.timer == nil:
		s.timer = time.AfterFunc(time.Until(s.cooling[0].until), s.endCooldowns)
	default:
		s.timer.Reset(time.Until(s.cooling[0].until))
	}
}

// startDeliveryLocked makes sure that ready events are delivered. It reports whether the caller
// must call deliverReady.
func (s *Subscriber) startDeliveryLocked() bool {
	switch {
	case s.how == byServe:
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
	if s.how == byGoroutine {
		var ctx context.Context
		ctx, s.cancel = context.WithCancel(context.Background())
		go s.deliverReady(ctx)
		return false
	}
	return true
}
