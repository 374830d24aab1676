package exchange

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Pausable is a time limit or a place of a running call that is suspended while the call
// waits for its client. Each Pause needs one Resume. Pauses may overlap: the last Resume ends
// them. Both methods are safe for concurrent use.
type Pausable interface {
	Pause()
	Resume()
}

// pausables is the list of a context: the innermost one, then the outer ones.
type pausables struct {
	Pausable
	outer *pausables
}

type pausableKey struct{}

// WithPausable returns a context under which PauseAll pauses p, in addition to those that
// ctx has already.
func WithPausable(ctx context.Context, p Pausable) context.Context {
	return context.WithValue(ctx, pausableKey{}, &pausables{p, pausablesOf(ctx)})
}

func pausablesOf(ctx context.Context) *pausables {
	c, _ := ctx.Value(pausableKey{}).(*pausables)
	return c
}

// PauseAll pauses every Pausable of the context until resume is called, once. resume
// resumes the outermost first, so that a call takes its places again in the order in which
// it took them at first.
func PauseAll(ctx context.Context) (resume func()) {
	var paused []Pausable // the innermost first
	for p := pausablesOf(ctx); p != nil; p = p.outer {
		p.Pause()
		paused = append(paused, p.Pausable)
	}
	return func() {
		for _, p := range slices.Backward(paused) {
			p.Resume()
		}
	}
}

// A timeoutHandler handles the end of a timer.
type timeoutHandler interface{ expire() }

type timeoutFunc func()

func (f timeoutFunc) expire() { f() }

// Timer is a Pausable that calls a function when its duration has passed. Pauses do not
// count.
type Timer struct {
	mu      sync.Mutex
	timer   *time.Timer
	handler timeoutHandler
	until   time.Time
	pauses  int
	left    time.Duration // while it is paused
	done    bool          // it was stopped or has expired
}

// AfterFunc calls f, on a goroutine of its own, when the duration d has passed, not counting
// pauses.
func AfterFunc(d time.Duration, f func()) *Timer {
	t := new(Timer)
	t.start(d, timeoutFunc(f))
	return t
}

func (t *Timer) start(d time.Duration, over timeoutHandler) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until, t.handler = time.Now().Add(d), over
	t.timer = time.AfterFunc(d, t.fire)
}

func (t *Timer) fire() {
	if t.claim() {
		t.handler.expire()
	}
}

// claim reports whether the caller has to call the handler. It returns true at most once.
func (t *Timer) claim() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	over := !t.done && t.pauses == 0
	t.done = t.done || over
	return over
}

// remaining returns how much of the timer's time is left.
func (t *Timer) remaining() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pauses > 0 {
		return t.left
	}
	return time.Until(t.until)
}

// Stop ends the timer. The function is not called afterwards, but a call may be running.
func (t *Timer) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done = true
	t.timer.Stop()
}

// Pause implements Pausable.
func (t *Timer) Pause() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pauses++; t.pauses == 1 {
		t.timer.Stop()
		t.left = time.Until(t.until)
	}
}

// Resume implements Pausable.
func (t *Timer) Resume() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pauses--; t.pauses == 0 && !t.done {
		t.until = time.Now().Add(t.left)
		t.timer.Reset(t.left)
	}
}

// WithTimeout is context.WithTimeoutCause with a Timeout.
func WithTimeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	t := NewTimeout(ctx, d, cause)
	return t, t.Stop
}

// Timeout is a context that ends with its parent, by Stop, and when its Timer expires,
// which PauseAll pauses. It has no Deadline, because pauses move it. When the timer
// expires, the error of the context is context.DeadlineExceeded; the error of derived
// contexts is context.Canceled, with the cause.
type Timeout struct {
	context.Context
	cancel    context.CancelCauseFunc
	cause     error // of the cancellation by the timer
	timer     Timer
	deadlines pausables
	expired   atomic.Bool
}

// NewTimeout returns a Timeout, which needs one Stop.
func NewTimeout(ctx context.Context, d time.Duration, cause error) *Timeout {
	c := &Timeout{cause: cause}
	c.deadlines = pausables{&c.timer, pausablesOf(ctx)}
	c.Context, c.cancel = context.WithCancelCause(ctx)
	c.timer.start(d, c)
	return c
}

// Left returns how long the timer has still to run. It is not positive once it has expired.
func (c *Timeout) Left() time.Duration { return c.timer.remaining() }

func (c *Timeout) expire() {
	c.expired.Store(true)
	c.cancel(c.cause)
}

// Stop ends the context.
func (c *Timeout) Stop() {
	c.timer.Stop()
	c.cancel(nil)
}

// Err implements context.Context.
func (c *Timeout) Err() error {
	err := c.Context.Err()
	if err != nil && c.expired.Load() {
		return context.DeadlineExceeded
	}
	return err
}

// Value implements context.Context.
func (c *Timeout) Value(key any) any {
	if key == (pausableKey{}) {
		return &c.deadlines
	}
	return c.Context.Value(key)
}

// DeadlineGroup pauses and resumes the deadlines of several waiters together. Pause and
// Resume do not wait: each waiter pauses and resumes its own deadlines. The zero value has no
// waiters.
type DeadlineGroup struct {
	mu      sync.Mutex
	pauses  int           // guarded by mu
	changed chan struct{} // closed when the group is paused or resumed next; nil without waiters; guarded by mu
}

var _ Pausable = (*DeadlineGroup)(nil)

// Wait waits until done is closed or ctx ends, whose cause it returns. While the group is
// paused, all deadlines of ctx are paused. Before Wait returns, they are resumed, which may
// wait for places that other calls have.
func (g *DeadlineGroup) Wait(ctx context.Context, done <-chan struct{}) error {
	for {
		paused, changed := g.state()
		if paused {
			if ended, err := pausedUntil(ctx, done, changed); ended {
				return err
			}
			continue
		}
		if ended, err := waitUntil(ctx, done, changed); ended {
			return err
		}
	}
}

// pausedUntil is waitUntil with the deadlines of ctx paused.
func pausedUntil(ctx context.Context, done, changed <-chan struct{}) (ended bool, err error) {
	defer PauseAll(ctx)()
	return waitUntil(ctx, done, changed)
}

// waitUntil waits until done or changed is closed or ctx ends. ended is false for changed.
func waitUntil(ctx context.Context, done, changed <-chan struct{}) (ended bool, err error) {
	select {
	case <-done:
		return true, nil
	case <-ctx.Done():
		return true, context.Cause(ctx)
	case <-changed:
		return false, nil
	}
}

// state reports whether the group is paused, and returns a channel that is closed when that
// changes.
func (g *DeadlineGroup) state() (paused bool, changed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.changed == nil {
		g.changed = make(chan struct{})
	}
	return g.pauses > 0, g.changed
}

// Pause implements Pausable.
func (g *DeadlineGroup) Pause() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pauses++; g.pauses == 1 {
		g.announceLocked()
	}
}

// Resume implements Pausable.
func (g *DeadlineGroup) Resume() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pauses--; g.pauses == 0 {
		g.announceLocked()
	}
}

func (g *DeadlineGroup) announceLocked() {
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}
