// Package usercode runs code of the users of the library, such as handlers,
// hooks, stores, streams and listeners, and turns its panics into errors. The stack of a panic goes
// into the log and never into the text of the error.
package usercode

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// Panic is the error that a panic is turned into.
type Panic struct {
	Value any
	Stack []byte
}

// Error returns the value of the panic, without the stack.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// NewPanic returns the error for a value that was recovered, with the stack of the
// panic. It is called by the deferred function that has called recover.
func NewPanic(value any) *Panic { return &Panic{Value: value, Stack: debug.Stack()} }

// Contain turns a panic of the function that defers it into a *Panic.
func Contain(err *error) {
	if v := recover(); v != nil {
		*err = NewPanic(v)
	}
}

// Run runs f and returns its error, or its panic as a *Panic.
func Run(f func() error) (err error) {
	defer Contain(&err)
	return f()
}

// Attrs returns the log attributes of an error: the error, or the value and the stack of a panic.
func Attrs(err error) []slog.Attr {
	if p, ok := err.(*Panic); ok {
		return []slog.Attr{slog.Any("panic", p.Value), slog.String("stack", string(p.Stack))}
	}
	return []slog.Attr{slog.Any("error", err)}
}

// Logger returns a logger that writes to l and drops the records with which the
// handler of l panics.
func Logger(l *slog.Logger) *slog.Logger {
	if _, ok := l.Handler().(handler); ok {
		return l
	}
	return slog.New(handler{l.Handler()})
}

// handler is a slog.Handler that does not panic.
type handler struct{ slog.Handler }

func (h handler) Enabled(ctx context.Context, level slog.Level) (enabled bool) {
	defer func() { _ = recover() }()
	return h.Handler.Enabled(ctx, level)
}

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	return Run(func() error { return h.Handler.Handle(ctx, r) })
}

func (h handler) WithAttrs(attrs []slog.Attr) (with slog.Handler) {
	with = h
	defer func() { _ = recover() }()
	return handler{h.Handler.WithAttrs(attrs)}
}

func (h handler) WithGroup(name string) (with slog.Handler) {
	with = h
	defer func() { _ = recover() }()
	return handler{h.Handler.WithGroup(name)}
}
