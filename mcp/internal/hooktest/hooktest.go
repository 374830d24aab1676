// Package hooktest has code of a user that calls a function of a test, for the tables of
// user code.
package hooktest

import (
	"context"
	"log/slog"
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
