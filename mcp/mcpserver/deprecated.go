package mcpserver

import (
	"context"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// The names below were replaced. The next minor version removes them.

// Form returns ElicitForm(key, message, out).
//
// Deprecated: use [ElicitForm].
//
//go:fix inline
func Form[T any](key, message string, out *T) Question { return ElicitForm(key, message, out) }

// Visit returns ElicitURL(key, message, address).
//
// Deprecated: use [ElicitURL].
//
//go:fix inline
func Visit(key, message, address string) Question { return ElicitURL(key, message, address) }

// VisitRequired returns URLElicitationRequired(message, address).
//
// Deprecated: use [URLElicitationRequired].
//
//go:fix inline
func VisitRequired(message, address string) error { return URLElicitationRequired(message, address) }

// Additive returns NonDestructive().
//
// Deprecated: use [NonDestructive].
//
//go:fix inline
func Additive() ToolOption { return NonDestructive() }

// Together returns ToolOptions(opts...).
//
// Deprecated: use [ToolOptions].
//
//go:fix inline
func Together(opts ...ToolOption) ToolOption { return ToolOptions(opts...) }

// WhileWatched returns WhileSubscribed(run).
//
// Deprecated: use [WhileSubscribed].
//
//go:fix inline
func WhileWatched(run func(ctx context.Context, uri string)) ResourceOption {
	return WhileSubscribed(run)
}

// Began returns StartedAt(ctx).
//
// Deprecated: use [StartedAt].
//
//go:fix inline
func Began(ctx context.Context) time.Time { return StartedAt(ctx) }

// HangUp returns CloseStream(ctx, retry).
//
// Deprecated: use [CloseStream].
//
//go:fix inline
func HangUp(ctx context.Context, retry time.Duration) bool { return CloseStream(ctx, retry) }

// RelayLog returns ForwardLog(ctx, m).
//
// Deprecated: use [ForwardLog].
//
//go:fix inline
func RelayLog(ctx context.Context, m *mcp.LoggingMessageParams) error { return ForwardLog(ctx, m) }

// Apart is Background.
//
// Deprecated: use [Background].
//
//go:fix inline
type Apart = Background

// Completing is CompletionRequest.
//
// Deprecated: use [CompletionRequest].
//
//go:fix inline
type Completing = CompletionRequest

// Answer is ResponseMode.
//
// Deprecated: use [ResponseMode].
//
//go:fix inline
type Answer = ResponseMode

// AnswerAuto is ResponseAuto.
//
// Deprecated: use [ResponseAuto].
//
//go:fix inline
const AnswerAuto = ResponseAuto

// AnswerJSON is ResponseJSON.
//
// Deprecated: use [ResponseJSON].
//
//go:fix inline
const AnswerJSON = ResponseJSON

// AnswerStream is ResponseStream.
//
// Deprecated: use [ResponseStream].
//
//go:fix inline
const AnswerStream = ResponseStream

// Ask returns r.Call(ctx, method, params, out).
//
// Deprecated: use [Request.Call].
//
//go:fix inline
func (r *Request) Ask(ctx context.Context, method string, params, out any) error {
	return r.Call(ctx, method, params, out)
}

// Reached calls r.ReportLimit(l).
//
// Deprecated: use [Request.ReportLimit].
//
//go:fix inline
func (r *Request) Reached(l mcp.Limit) { r.ReportLimit(l) }

// Reveal returns r.PublicError(ctx, err).
//
// Deprecated: use [Request.PublicError].
//
//go:fix inline
func (r *Request) Reveal(ctx context.Context, err error) *mcp.Error { return r.PublicError(ctx, err) }

// Change calls s.BatchChanges(fn).
//
// Deprecated: use [Server.BatchChanges].
//
//go:fix inline
func (s *Server) Change(fn func()) { s.BatchChanges(fn) }

// Visited returns s.ElicitationComplete(ctx, address).
//
// Deprecated: use [Server.ElicitationComplete].
//
//go:fix inline
func (s *Server) Visited(ctx context.Context, address string) error {
	return s.ElicitationComplete(ctx, address)
}
