package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

// callDeadline cancels the context of one call when timeout has passed since the last
// progress, or max since the start. The timeout starts again when a handler of this
// client has answered the server, because the server waited for the answer. Both are
// paused while Options.HTTP.Auth gets credentials.
type callDeadline struct {
	ctx      context.Context // ends with the caller's, or at the deadline
	cancel   context.CancelCauseFunc
	handlers *handlerActivity
	timeout  time.Duration // since the last progress; negative: none
	max      time.Duration // since the start; negative: none

	mu        sync.Mutex
	restarted time.Time // last start of the timeout
	maxAt     time.Time // end of max
	timer     *time.Timer
	paused    bool
	holds     int       // number of callers of Hold that have not called Release
	heldSince time.Time // time of the first Hold
}

var _ exchange.Pausable = (*callDeadline)(nil)

// handlerActivity says when a handler of this client last answered the server. It is
// safe for concurrent use.
type handlerActivity struct {
	running atomic.Int32
	last    atomic.Int64 // end of the last one, in Unix nanoseconds
}

func (a *handlerActivity) begin() { a.running.Add(1) }

func (a *handlerActivity) end() {
	a.last.Store(time.Now().UnixNano())
	a.running.Add(-1)
}

// lastActive returns the last moment at which a handler ran.
func (a *handlerActivity) lastActive() time.Time {
	if a.running.Load() > 0 {
		return time.Now()
	}
	return time.Unix(0, a.last.Load())
}

// start starts the timer and sets ctx. Each start needs one stop.
func (d *callDeadline) start(ctx context.Context, c *Client, o *callOptions) {
	d.handlers = &c.handlers
	d.timeout, d.max = cmp.Or(o.timeout, c.opts.timeout()), c.opts.maxTimeout()
	d.restarted = time.Now()
	d.maxAt = d.restarted.Add(d.max)
	if c.opts.HTTP.Auth != nil {
		ctx = exchange.WithPausable(ctx, d)
	}
	d.ctx, d.cancel = context.WithCancelCause(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if wait, ok := d.remaining(); ok {
		d.timer = time.AfterFunc(wait, d.expire)
	}
}

// remaining returns the time until the deadline, and false if there is none. The
// caller holds mu.
func (d *callDeadline) remaining() (time.Duration, bool) {
	last := d.restarted
	if a := d.handlers.lastActive(); a.After(last) {
		last = a
	}
	now := d.now()
	untilTimeout, untilMax := last.Add(d.timeout).Sub(now), d.maxAt.Sub(now)
	switch {
	case d.timeout < 0:
		return untilMax, d.max >= 0
	case d.max < 0:
		return untilTimeout, true
	}
	return min(untilTimeout, untilMax), true
}

// now returns the current time or, while the deadline is held, the time of the first
// Hold. The caller holds mu.
func (d *callDeadline) now() time.Time {
	if d.holds > 0 {
		return d.heldSince
	}
	return time.Now()
}

// expire cancels the context. If the deadline has moved meanwhile, it sets the timer
// again.
func (d *callDeadline) expire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch left, _ := d.remaining(); {
	case left > 0:
		d.resetTimer()
	case d.max >= 0 && !d.now().Before(d.maxAt):
		d.cancel(fmt.Errorf("no answer within %v, the maximum: %w", d.max, context.DeadlineExceeded))
	default:
		d.cancel(fmt.Errorf("no answer within %v: %w", d.timeout, context.DeadlineExceeded))
	}
}

// restart starts the timeout again, also after a pause. A timer that runs stays as it is:
// it ends too early, and expire then sets it again.
func (d *callDeadline) restart() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.restarted = time.Now()
	if d.paused {
		d.paused = false
		d.resetTimer()
	}
}

// pause stops the timer until restart.
func (d *callDeadline) pause() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paused = true
	if d.timer != nil {
		d.timer.Stop()
	}
}

// Pause implements exchange.Pausable.
func (d *callDeadline) Pause() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holds++; d.holds == 1 {
		d.heldSince = time.Now()
	}
}

// Resume implements exchange.Pausable.
func (d *callDeadline) Resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holds--; d.holds > 0 {
		return
	}
	held := time.Since(d.heldSince)
	d.restarted, d.maxAt = d.restarted.Add(held), d.maxAt.Add(held)
	d.resetTimer()
}

// resetTimer sets the timer for the remaining time. It does nothing while the deadline
// is paused or held. The caller holds mu.
func (d *callDeadline) resetTimer() {
	if left, ok := d.remaining(); ok && d.holds == 0 && !d.paused {
		d.timer.Reset(left)
	}
}

// stop stops the timer and cancels the context.
func (d *callDeadline) stop() {
	d.pause()
	d.cancel(nil)
}

// cancelReason returns the reason for notifications/cancelled. A program that passes on the calls of
// its own clients passes on their reason.
func (d *callDeadline) cancelReason() string {
	cause := context.Cause(d.ctx)
	if cancelled, ok := errors.AsType[*mcp.CancelledError](cause); ok && cancelled.Reason != "" {
		return cancelled.Reason
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		return "the timeout of the call expired"
	}
	return "the caller cancelled the call"
}
