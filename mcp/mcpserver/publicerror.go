package mcpserver

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// publicError returns what the peer learns of an error. It gets protocol errors as
// they are; all others are private: it gets an id, and the log the whole chain. What
// failed because its caller is gone is not logged.
//
// The type of an error can be the author's, so its methods may panic.
func (s *Server) publicError(ctx context.Context, call *dialect.Call, err error) (shown error) {
	if err == nil {
		return nil
	}
	if p := usercode.Run(func() error { shown = s.shown(ctx, call, err); return nil }); p != nil {
		return s.private(ctx, call, slog.LevelError, "error of a handler panicked", usercode.Attrs(p)...)
	}
	return shown
}

// shown is publicError of an error that is not nil.
func (s *Server) shown(ctx context.Context, call *dialect.Call, err error) error {
	if p, ok := errors.AsType[*panicked](err); ok {
		return s.private(ctx, call, slog.LevelError, "handler panicked", usercode.Attrs(p)...)
	}
	if _, ok := errors.AsType[*mcp.Error](err); ok {
		return err
	}
	if forCaller(err) {
		return mcp.Errorf(mcp.CodeInternal, "%s: %s", call.Method, cleanText(err.Error(), maxErrorText))
	}
	if ctx.Err() != nil || errors.Is(err, errUnheard) {
		return mcp.Errorf(mcp.CodeInternal, "%s: ended before it was done", call.Method)
	}
	return s.private(ctx, call, slog.LevelError, "request failed", slog.Any("error", err))
}

// PublicError returns what the client may learn of an error that ends the request:
// what the server would answer, with Number as the client's revision has it. A
// private error is logged under the id that stands for it. err must not be nil. A nil
// Request logs nothing: it returns a protocol error as it is, and for any other an
// error that says no more than that it is internal.
func (r *Request) PublicError(ctx context.Context, err error) *mcp.Error {
	shown := err
	if r != nil {
		shown = r.server.publicError(ctx, r.call, err)
	}
	e, ok := errors.AsType[*mcp.Error](shown)
	if !ok {
		e = mcp.Errorf(mcp.CodeInternal, "internal error")
	}
	if r == nil {
		return e
	}
	out := *e
	out.Number = r.call.Facts.WireNumber(e)
	return &out
}

// forCaller reports whether an error says only what became of a question, which
// its caller knows or has to know.
func forCaller(err error) bool {
	for _, known := range []error{ErrDeclined, ErrDismissed, ErrAskExpired, ErrParkLost} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// private logs a failure and returns the error that stands for it.
func (s *Server) private(ctx context.Context, call *dialect.Call, level slog.Level, msg string, attrs ...slog.Attr) *mcp.Error {
	id := rand.Text()[:10]
	attrs = append(attrs, slog.String("method", call.Method), slog.String("incident", id))
	s.options.logger().LogAttrs(ctx, level, msg, attrs...)
	return mcp.Errorf(mcp.CodeInternal, "internal error (incident %s)", id)
}

// toolError turns the error of a tool handler into a result that the model can
// read, cleaned and bounded, or masked where the options say so and it is more
// than the caller's own mistake.
func (s *Server) toolError(ctx context.Context, call *dialect.Call, tool string, err error) *mcp.CallToolResult {
	text := cleanText(err.Error(), maxErrorText)
	_, known := errors.AsType[*badArguments](err)
	if s.options.orZero().MaskErrors && !known && !forCaller(err) {
		text = s.private(ctx, call, slog.LevelInfo, "tool failed", slog.String("tool", tool), slog.Any("error", err)).Message
	}
	return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(text)}, IsError: true}
}
