package exchange

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Clock measures how long something may take. It stands still from a Hold to the
// Release that belongs to it. Holds may overlap: it goes on after the last Release. Both
// methods are safe for concurrent use.
type Clock interface {
	Hold()
	Release()
}

// clocks are those of a context: the innermost one and what it runs under.
type clocks struct {
	Clock
	outer *clocks
}

type clockKey struct{}

// WithClock returns a context for what the clock measures. The clocks that ctx has
// already measure it too.
func WithClock(ctx context.Context, c Clock) context.Context {
	return context.WithValue(ctx, clockKey{}, &clocks{c, clocksOf(ctx)})
}

func clocksOf(ctx context.Context) *clocks {
	c, _ := ctx.Value(clockKey{}).(*clocks)
	return c
}

// Hold lets every clock of the context stand still until release is called, once. It
// releases them in the order in which they were set, the outermost first: what a call
// holds is taken again in the order in which it was taken at first.
func Hold(ctx context.Context) (release func()) {
	var held []Clock // the innermost first
	for c := clocksOf(ctx); c != nil; c = c.outer {
		c.Hold()
		held = append(held, c.Clock)
	}
	return func() {
		for _, c := range slices.Backward(held) {
			c.Release()
		}
	}
}

// expirer is told that a time is over.
type expirer interface{ expire() }

type expiry func()

func (f expiry) expire() { f() }

// Timer is a Clock that calls a function when its time is over.
type Timer struct {
	mu    sync.Mutex
	timer *time.Timer
	over  expirer // told when the time is over
	until time.Time
	held  int
	left  time.Duration // while it is held
	done  bool          // it was stopped, or its time is over
}

// AfterFunc calls f, on a goroutine of its own, after d in which the timer was not
// held.
func AfterFunc(d time.Duration, f func()) *Timer {
	t := new(Timer)
	t.start(d, expiry(f))
	return t
}

func (t *Timer) start(d time.Duration, over expirer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until, t.over = time.Now().Add(d), over
	t.timer = time.AfterFunc(d, t.fire)
}

func (t *Timer) fire() {
	if t.end() {
		t.over.expire()
	}
}

// end reports whether the time is over now.
func (t *Timer) end() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	over := !t.done && t.held == 0
	t.done = t.done || over
	return over
}

// remaining returns how much of the timer's time is left.
func (t *Timer) remaining() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held > 0 {
		return t.left
	}
	return time.Until(t.until)
}

// Stop ends the timer. The function is not called any more.
func (t *Timer) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done = true
	t.timer.Stop()
}

// Hold implements Clock.
func (t *Timer) Hold() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held++; t.held == 1 {
		t.timer.Stop()
		t.left = time.Until(t.until)
	}
}

// Release implements Clock.
func (t *Timer) Release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held--; t.held == 0 && !t.done {
		t.until = time.Now().Add(t.left)
		t.timer.Reset(t.left)
	}
}

// WithTimeout is context.WithTimeoutCause with a Timer: what runs under the context can
// hold it. The context has no Deadline, because that moves. When the time is over its
// error is context.DeadlineExceeded; that of contexts derived from it is
// context.Canceled, with the cause.
func WithTimeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	c := &timeoutContext{cause: cause}
	c.clocks = clocks{&c.timer, clocksOf(ctx)}
	c.Context, c.cancel = context.WithCancelCause(ctx)
	c.timer.start(d, c)
	return c, c.stop
}

// TimeLeft returns how much is left of the time of a context that WithTimeout returned. It
// is not positive when the time is over.
func TimeLeft(ctx context.Context) time.Duration { return ctx.(*timeoutContext).timer.remaining() }

// timeoutContext is a context of WithTimeout.
type timeoutContext struct {
	context.Context
	cancel  context.CancelCauseFunc
	cause   error // when the time is over
	timer   Timer
	clocks  clocks
	expired atomic.Bool
}

func (c *timeoutContext) expire() {
	c.expired.Store(true)
	c.cancel(c.cause)
}

func (c *timeoutContext) stop() {
	c.timer.Stop()
	c.cancel(nil)
}

// Err implements context.Context.
func (c *timeoutContext) Err() error {
	err := c.Context.Err()
	if err != nil && c.expired.Load() {
		return context.DeadlineExceeded
	}
	return err
}

// Value implements context.Context.
func (c *timeoutContext) Value(key any) any {
	if key == (clockKey{}) {
		return &c.clocks
	}
	return c.Context.Value(key)
}

// Clocks is a Clock that is many: those of all who wait for the same. The zero value
// has none.
type Clocks struct {
	mu      sync.Mutex
	held    int
	waiting map[*waiter]struct{}
}

// waiter is a context whose clocks are among others.
type waiter struct {
	ctx     context.Context
	release func() // nil while they are not held
}

func (w *waiter) hold() { w.release = Hold(w.ctx) }

func (w *waiter) letGo() {
	if w.release != nil {
		w.release()
		w.release = nil
	}
}

// Add lets the clocks of ctx be held with the others until leave is called, once.
func (s *Clocks) Add(ctx context.Context) (leave func()) {
	w := &waiter{ctx: ctx}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		s.waiting = make(map[*waiter]struct{})
	}
	s.waiting[w] = struct{}{}
	if s.held > 0 {
		w.hold()
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, w)
		w.letGo()
	}
}

// Hold implements Clock.
func (s *Clocks) Hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held++; s.held > 1 {
		return
	}
	for w := range s.waiting {
		w.hold()
	}
}

// Release implements Clock.
func (s *Clocks) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held--; s.held > 0 {
		return
	}
	for w := range s.waiting {
		w.letGo()
	}
}
