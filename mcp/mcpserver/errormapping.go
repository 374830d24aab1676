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

// publicError returns the error that is sent to the peer. A protocol error (*mcp.Error) is
// sent as it is. Other errors are private: the peer gets an incident id, and the log has
// the id and the whole error. Errors of requests whose caller has gone are not logged.
//
// Methods of err are user code and may panic.
func (s *Server) publicError(ctx context.Context, call *dialect.Call, err error) (shown error) {
	if err == nil {
		return nil
	}
	if p := usercode.Run(func() error { shown = s.errorForPeer(ctx, call, err); return nil }); p != nil {
		return s.internalError(ctx, call, slog.LevelError, "error of a handler panicked", usercode.Attrs(p)...)
	}
	return shown
}

// errorForPeer is publicError for an error that is not nil.
func (s *Server) errorForPeer(ctx context.Context, call *dialect.Call, err error) error {
	if p, ok := errors.AsType[*panicked](err); ok {
		return s.internalError(ctx, call, slog.LevelError, "handler panicked", usercode.Attrs(p)...)
	}
	if _, ok := errors.AsType[*mcp.Error](err); ok {
		return err
	}
	if isAboutQuestion(err) {
		return mcp.Errorf(mcp.CodeInternal, "%s: %s", call.Method, cleanText(err.Error(), maxErrorText))
	}
	if ctx.Err() != nil || errors.Is(err, errNotDelivered) {
		return mcp.Errorf(mcp.CodeInternal, "%s: ended before it was done", call.Method)
	}
	return s.internalError(ctx, call, slog.LevelError, "request failed", slog.Any("error", err))
}

// PublicError returns the error that the client would get if the request ended with err,
// with the Number of the client's revision. A private error is logged, and the returned
// error has only the incident id of the log line. err must not be nil. If r is nil nothing
// is logged: a protocol error is returned as it is, any other as an error "internal error".
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

// isAboutQuestion reports whether an error is the outcome of a question. Its text is not
// private, because the client knows the outcome or has to know it.
func isAboutQuestion(err error) bool {
	for _, known := range []error{ErrDeclined, ErrDismissed, ErrAskExpired, ErrParkLost} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// internalError logs a private error and returns the error for the peer, which has the
// incident id of the log line.
func (s *Server) internalError(ctx context.Context, call *dialect.Call, level slog.Level, msg string, attrs ...slog.Attr) *mcp.Error {
	id := rand.Text()[:10]
	attrs = append(attrs, slog.String("method", call.Method), slog.String("incident", id))
	s.options.logger().LogAttrs(ctx, level, msg, attrs...)
	return mcp.Errorf(mcp.CodeInternal, "internal error (incident %s)", id)
}

// toolError returns the result (isError) with the text of a tool handler's error, for the
// model. The text is cleaned and truncated. With Options.MaskErrors the text is replaced,
// unless the error is about the caller's arguments or about a question.
func (s *Server) toolError(ctx context.Context, call *dialect.Call, tool string, err error) *mcp.CallToolResult {
	text := cleanText(err.Error(), maxErrorText)
	_, known := errors.AsType[*badArguments](err)
	if s.options.orZero().MaskErrors && !known && !isAboutQuestion(err) {
		text = s.internalError(ctx, call, slog.LevelInfo, "tool failed", slog.String("tool", tool), slog.Any("error", err)).Message
	}
	return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(text)}, IsError: true}
}
