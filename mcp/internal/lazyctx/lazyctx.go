// Package lazyctx provides cancellable contexts that cost next to nothing until code waits
// for their end, which most calls never do.
package lazyctx

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Context is a context with the contract of context.WithCancelCause. It can be a field of its
// owner's struct and is ready after Begin. It creates a context of the standard library at
// the first call of Done, and when Value is called after the cancellation, because
// context.Cause finds the cause in that context.
type Context struct {
	parent  context.Context
	also    context.Context // its end ends the context, too; may be nil
	created atomic.Pointer[realContext]
	mu      sync.Mutex // held while created or cancelled is set

	cancelled atomic.Bool // Cancel has been called
	first     bool        // set before cancelled: Cancel has ended the context, not parent or also
	cause     error       // set before cancelled: the cause of Cancel, if first
}

// realContext is the context of the standard library that a Context creates.
type realContext struct {
	context.Context
	cancel context.CancelCauseFunc
	stop   func() bool // ends the observation of also; may be nil
}

var _ context.Context = (*Context)(nil)

// New returns a context that ends when parent ends, or also unless that is nil. It needs one
// Cancel.
func New(parent, also context.Context) *Context {
	c := new(Context)
	c.Begin(parent, also)
	return c
}

// Begin initializes a Context that is a field of another struct, as New does. It must be
// called once, before every other method except Cancel.
func (c *Context) Begin(parent, also context.Context) { c.parent, c.also = parent, also }

// Cancel ends the context. Only the first call has an effect; a nil cause stands for
// context.Canceled. Before Begin it does nothing.
func (c *Context) Cancel(cause error) {
	if c.parent == nil {
		return
	}
	c.mu.Lock()
	m := c.created.Load()
	if !c.cancelled.Load() {
		if m == nil && c.parent.Err() == nil && (c.also == nil || c.also.Err() == nil) {
			c.first, c.cause = true, cause
		}
		c.cancelled.Store(true)
	}
	c.mu.Unlock()
	if m != nil {
		m.cancelWith(cause)
	}
}

// Deadline implements context.Context.
func (c *Context) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Done implements context.Context.
func (c *Context) Done() <-chan struct{} { return c.materialize().Done() }

// Err implements context.Context.
func (c *Context) Err() error {
	if m := c.created.Load(); m != nil {
		return m.Err()
	}
	if c.cancelled.Load() && c.first {
		return context.Canceled
	}
	if c.also != nil && c.also.Err() != nil {
		return c.materialize().Err()
	}
	return c.parent.Err()
}

// Value implements context.Context.
func (c *Context) Value(key any) any {
	m := c.created.Load()
	if m == nil && c.cancelled.Load() && c.first {
		m = c.materialize()
	}
	if m != nil {
		return m.Value(key)
	}
	return c.parent.Value(key)
}

// materialize returns the context of the standard library, which its first call creates.
func (c *Context) materialize() *realContext {
	if m := c.created.Load(); m != nil {
		return m
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.created.Load(); m != nil {
		return m
	}
	m := new(realContext)
	if c.cancelled.Load() && c.first { // also if the parent has ended since
		m.Context, m.cancel = context.WithCancelCause(context.WithoutCancel(c.parent))
		m.cancel(c.cause)
		c.created.Store(m)
		return m
	}
	m.Context, m.cancel = context.WithCancelCause(c.parent)
	if c.also != nil {
		if c.also.Err() != nil {
			m.cancel(context.Cause(c.also))
		}
		m.stop = context.AfterFunc(c.also, func() { m.cancel(context.Cause(c.also)) })
	}
	if c.cancelled.Load() {
		m.cancelWith(nil)
	}
	c.created.Store(m)
	return m
}

func (m *realContext) cancelWith(cause error) {
	if m.stop != nil {
		m.stop()
	}
	m.cancel(cause)
}
