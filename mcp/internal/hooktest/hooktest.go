// Package hooktest has user code that calls a function of a test, for the tables of user
// code, and returns the panics of functions.
package hooktest

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
)

// Log is a [slog.Handler] that calls Hook for each record.
type Log struct {
	Hook func(context.Context, slog.Record)
}

// Enabled implements slog.Handler.
func (l Log) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (l Log) Handle(ctx context.Context, r slog.Record) error {
	l.Hook(ctx, r)
	return nil
}

// WithAttrs implements slog.Handler.
func (l Log) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler.
func (l Log) WithGroup(string) slog.Handler { return l }

// Value is a value that calls Hook when it is encoded.
type Value struct{ Hook func() }

// MarshalJSON implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) {
	v.Hook()
	return []byte("{}"), nil
}

// PanicText returns the text of the value that f panics with. The test fails if f does not
// panic.
func PanicText(t *testing.T, f func()) (text string) {
	t.Helper()
	defer func() {
		v := recover()
		if v == nil {
			t.Error("got no panic, want one")
		}
		text = fmt.Sprint(v)
	}()
	f()
	return ""
}
