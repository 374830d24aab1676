package lazyctx

import (
	"context"
	"sync/atomic"
	"time"
)

// WithDeadline is context.WithDeadlineCause for contexts that hold much, such as those of requests.
// After cancel the timer does not refer to them: the runtime may keep a timer that was stopped, and all
// that it refers to, for as long as the timer was set.
//
// When the deadline passes, the error of the context is context.DeadlineExceeded, and that of derived
// contexts is context.Canceled. The cause is that of both.
func WithDeadline(parent context.Context, at time.Time, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	if earlier, ok := parent.Deadline(); ok && earlier.Before(at) {
		return ctx, func() { cancel(nil) }
	}
	if cause == nil {
		cause = context.DeadlineExceeded
	}
	d := &deadline{Context: ctx, at: at, cancel: cancel, cause: cause}
	pending := new(atomic.Pointer[deadline])
	pending.Store(d)
	timer := time.AfterFunc(time.Until(at), func() {
		if d := pending.Swap(nil); d != nil {
			d.expire()
		}
	})
	return d, func() {
		pending.Store(nil)
		timer.Stop()
		cancel(nil)
	}
}

type deadline struct {
	context.Context
	at      time.Time
	cancel  context.CancelCauseFunc
	cause   error
	expired atomic.Bool
}

func (d *deadline) expire() {
	if d.Context.Err() == nil {
		d.expired.Store(true)
	}
	d.cancel(d.cause)
}

// Deadline implements context.Context.
func (d *deadline) Deadline() (time.Time, bool) { return d.at, true }

// Err implements context.Context.
func (d *deadline) Err() error {
	err := d.Context.Err()
	if err != nil && d.expired.Load() {
		return context.DeadlineExceeded
	}
	return err
}
