// Package lazyctx has contexts that cost next to nothing until somebody waits for
// their end, which most calls never do.
package lazyctx

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Context is a context that is cancelled like one of context.WithCancelCause. It can lie
// in the struct of its owner and is ready after Begin. The context of the standard library
// that it stands for is made when somebody asks for Done, or when it is cancelled with a
// cause: what derives from it then finds that one, and the cause.
type Context struct {
	parent context.Context
	also   context.Context // ends it too; may be nil
	over   atomic.Bool
	made   atomic.Pointer[made]
	making sync.Mutex // one at a time, and none behind the end
}

// made is what a Context stands for once it is needed.
type made struct {
	context.Context
	cancel context.CancelCauseFunc
	stop   func() bool // lets go of also; may be nil
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

// Cancel ends the context. The first cause counts; nil is context.Canceled.
func (c *Context) Cancel(cause error) {
	if cause != nil {
		c.make()
	}
	c.making.Lock()
	c.over.Store(true)
	m := c.made.Load()
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
	if c.also != nil && c.also.Err() != nil {
		return c.make().Err()
	}
	if err := c.parent.Err(); err != nil {
		return err
	}
	if c.over.Load() {
		return context.Canceled
	}
	return nil
}

// Value implements context.Context.
func (c *Context) Value(key any) any {
	if m := c.made.Load(); m != nil {
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
