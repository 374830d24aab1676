// Package lazyctx has contexts that cost next to nothing until code waits for their end,
// which most calls never do.
package lazyctx

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Context is a context that is cancelled like one of context.WithCancelCause. It can lie
// in the struct of its owner and is ready after Begin. The context of the standard library
// that it stands for is made when code asks for Done, and when it asks for a value after
// the end: context.Cause finds the cause there.
type Context struct {
	parent context.Context
	also   context.Context // ends it too; may be nil
	made   atomic.Pointer[made]
	making sync.Mutex // guards the creation of made, and the end

	over  atomic.Bool // Cancel has been called
	first bool        // set before over: Cancel has ended it, and nothing before
	cause error       // set before over: of Cancel if it was the first
}

// made is what a Context stands for once it is needed.
type made struct {
	context.Context
	cancel context.CancelCauseFunc
	stop   func() bool // releases also; may be nil
}

var _ context.Context = (*Context)(nil)

// New returns a context that ends with its parent, and with also if that is not nil. It
// needs one Cancel.
func New(parent, also context.Context) *Context {
	c := new(Context)
	c.Begin(parent, also)
	return c
}

// Begin is New for a Context that lies in another struct. It is called once, before
// anything else.
func (c *Context) Begin(parent, also context.Context) { c.parent, c.also = parent, also }

// Cancel ends the context. The first cause counts; nil is context.Canceled. Before Begin
// it does nothing.
func (c *Context) Cancel(cause error) {
	if c.parent == nil {
		return
	}
	c.making.Lock()
	m := c.made.Load()
	if !c.over.Load() {
		if m == nil && c.parent.Err() == nil && (c.also == nil || c.also.Err() == nil) {
			c.first, c.cause = true, cause
		}
		c.over.Store(true)
	}
	c.making.Unlock()
	if m != nil {
		m.end(cause)
	}
}

// Deadline implements context.Context.
func (c *Context) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Done implements context.Context.
func (c *Context) Done() <-chan struct{} { return c.make().Done() }

// Err implements context.Context.
func (c *Context) Err() error {
	if m := c.made.Load(); m != nil {
		return m.Err()
	}
	if c.over.Load() && c.first {
		return context.Canceled
	}
	if c.also != nil && c.also.Err() != nil {
		return c.make().Err()
	}
	return c.parent.Err()
}

// Value implements context.Context.
func (c *Context) Value(key any) any {
	m := c.made.Load()
	if m == nil && c.over.Load() && c.first {
		m = c.make()
	}
	if m != nil {
		return m.Value(key)
	}
	return c.parent.Value(key)
}

// make returns what the context stands for.
func (c *Context) make() *made {
	if m := c.made.Load(); m != nil {
		return m
	}
	c.making.Lock()
	defer c.making.Unlock()
	if m := c.made.Load(); m != nil {
		return m
	}
	m := new(made)
	if c.over.Load() && c.first { // also if the parent has ended since
		m.Context, m.cancel = context.WithCancelCause(context.WithoutCancel(c.parent))
		m.cancel(c.cause)
		c.made.Store(m)
		return m
	}
	m.Context, m.cancel = context.WithCancelCause(c.parent)
	if c.also != nil {
		if c.also.Err() != nil {
			m.cancel(context.Cause(c.also))
		}
		m.stop = context.AfterFunc(c.also, func() { m.cancel(context.Cause(c.also)) })
	}
	if c.over.Load() {
		m.end(nil)
	}
	c.made.Store(m)
	return m
}

func (m *made) end(cause error) {
	if m.stop != nil {
		m.stop()
	}
	m.cancel(cause)
}
