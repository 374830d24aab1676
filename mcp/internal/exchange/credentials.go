package exchange

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// ErrExpired is the cause of contexts that end because credentials have expired.
var ErrExpired = errors.New("the credentials have expired")

// expiryCheck is the longest time between two comparisons of the clock with the end of
// credentials. The timers of a process stand still while its machine sleeps, so a single timer
// would fire too late by the time of the sleep.
const expiryCheck = 10 * time.Second

// WhileValid returns a context that ends when the credentials of a sender do, with
// the cause ErrExpired: at that time, or up to 10 seconds after the machine has woken from a
// sleep in which they have expired. It needs one call of cancel.
func WhileValid(ctx context.Context, i *mcp.Identity) (_ context.Context, cancel context.CancelFunc) {
	if i == nil || i.Expires.IsZero() {
		return ctx, func() {}
	}
	return validUntil(ctx, i.Expires, time.Now)
}

// validUntil returns a context that ends when the clock shows the time.
func validUntil(ctx context.Context, end time.Time, clock func() time.Time) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	e := &expiry{cancel: cancel, end: end, clock: clock}
	e.start()
	return ctx, e.stop
}

// expiry cancels a context at a time of the clock.
type expiry struct {
	cancel context.CancelCauseFunc
	end    time.Time
	clock  func() time.Time

	mu      sync.Mutex
	timer   *time.Timer // guarded by mu
	stopped bool        // guarded by mu
}

func (e *expiry) start() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.timer = time.AfterFunc(min(e.left(), expiryCheck), e.check)
}

// left returns how long the credentials are valid, by the wall clock: the monotonic one stops
// while the machine sleeps.
func (e *expiry) left() time.Duration { return e.end.Round(0).Sub(e.clock().Round(0)) }

// check cancels the context if the time has come, and otherwise sets the timer again.
func (e *expiry) check() {
	e.mu.Lock()
	defer e.mu.Unlock()
	left := e.left()
	switch {
	case e.stopped:
	case left <= 0:
		e.cancel(ErrExpired)
	default:
		e.timer.Reset(min(left, expiryCheck))
	}
}

func (e *expiry) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stopped = true
	e.timer.Stop()
	e.cancel(nil)
}
