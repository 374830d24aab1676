package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
	"github.com/fondaco/fondaco/mcp/internal/registry"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// SessionEvent is the begin or the end of a session or connection, see Options.OnSession.
type SessionEvent struct {
	// Connection identifies the session or connection, as [Request.Connection] does.
	Connection Connection
	// Ended is false at the begin and true at the end.
	Ended bool
	// Lasted is the time from the begin to the end, in this process. It is 0 at the begin.
	Lasted time.Duration
	// Revision is what client and server had negotiated. It is zero at the begin, and at the end
	// if they have negotiated none, as in the stateless era.
	Revision mcp.Revision
}

// reportSession calls Options.OnSession. A panic of the function is logged.
func (s *Server) reportSession(e SessionEvent) {
	if err := usercode.Run(func() error { s.options.OnSession(e); return nil }); err != nil {
		s.options.logger().LogAttrs(context.Background(), slog.LevelError, "OnSession panicked", usercode.Attrs(err)...)
	}
}

// sessionBegan reports a session that was opened, if Options.OnSession is set.
func (s *Server) sessionBegan(x *exchange.Session) {
	if s.options.orZero().OnSession == nil {
		return
	}
	s.sessions.begin(x, time.Now())
	s.reportSession(SessionEvent{Connection: Connection{x}})
}

// sessionEnded reports a session that was closed, if its begin was reported.
func (s *Server) sessionEnded(x *exchange.Session, began time.Time) {
	if began.IsZero() {
		return
	}
	e := SessionEvent{Connection: Connection{x}, Ended: true, Lasted: time.Since(began)}
	if agreed := x.Agreed(); agreed != nil {
		e.Revision = agreed.Facts.Revision
	}
	s.reportSession(e)
}

// beginDetached calls Options.OnDetach with the context of work that continues in the background. It
// returns the context of the work, and what to call when the work has ended.
func (s *Server) beginDetached(ctx context.Context) (work context.Context, ended func()) {
	f := s.options.orZero().OnDetach
	if f == nil {
		return ctx, func() {}
	}
	end := func() {}
	s.containDetach(ctx, func() {
		given, ended := f(ctx)
		work = cmp.Or(given, ctx)
		if ended != nil {
			end = ended
		}
	})
	return cmp.Or(work, ctx), func() { s.containDetach(ctx, end) }
}

// containDetach runs a function of Options.OnDetach. A panic of it is logged.
func (s *Server) containDetach(ctx context.Context, run func()) {
	if err := usercode.Run(func() error { run(); return nil }); err != nil {
		s.options.logger().LogAttrs(ctx, slog.LevelError, "OnDetach panicked", usercode.Attrs(err)...)
	}
}

// WaitingRequests returns how many requests wait at the moment to run, because a limit of Options.Load is reached,
// for example to observe it in a metric.
func (s *Server) WaitingRequests() int { return s.admission.gate.Waiting() }

// ID returns the JSON-RPC id of a request as it was received, a number or a string without its
// quotes. The client chooses it. It is empty for notifications, for messages that the server sends,
// and when r is nil.
func (r *Request) ID() string {
	if r == nil || r.outbound || r.call.ID.IsZero() {
		return ""
	}
	raw := r.call.ID.Raw()
	if raw[0] == '"' {
		return string(rawjson.Unquote([]byte(raw)))
	}
	return raw
}

// RegisteredName returns the name of the tool or prompt that a request uses, if one of that name is
// registered and visible to the sender. For all other messages, and when r is nil, it is empty.
// There are as many names as features, whatever clients send, so the name can be the value of an
// attribute of a metric.
func (r *Request) RegisteredName() string {
	if r == nil || r.outbound {
		return ""
	}
	switch r.method {
	case mcp.MethodToolsCall:
		if t, ok := registered[*tool](r, registry.Tools); ok {
			return t.def.Name
		}
	case mcp.MethodPromptsGet:
		if p, ok := registered[*prompt](r, registry.Prompts); ok {
			return p.def.Name
		}
	}
	return ""
}

// registered returns the registered feature that the member name of a request names.
func registered[T registry.Feature](r *Request, k registry.Kind) (none T, ok bool) {
	raw := r.call.Name()
	if raw.Kind() != '"' {
		return none, false
	}
	return registry.Lookup[T](r.server.features.Snapshot(), k, string(rawjson.Unquote(raw)), r.in.Identity)
}

// ErrorNumber returns the number of the JSON-RPC error that the peer gets for err, the error of a
// Handler. For an error that the client has answered it is the number that was received, and for an
// error that is no *mcp.Error that of an internal error. It is 0 for a nil error and when r is nil.
func (r *Request) ErrorNumber(err error) int64 {
	if r == nil || err == nil {
		return 0
	}
	e, ok := errors.AsType[*mcp.Error](err)
	switch {
	case !ok:
		return r.call.Facts.Number(mcp.CodeInternal)
	case e.Remote:
		return e.Number
	}
	return r.call.Facts.WireNumber(e)
}

// SwapTraceParent stores the traceparent of the span that handles a call, and returns the one that was
// stored in the previous run of the call: in its previous round of the stateless era or, for
// [Server.Replay], when the call was made. It is stored with the memory of the call, so the previous
// run may have been in another process. It returns "" if there was none, and when r is nil.
func (r *Request) SwapTraceParent(traceparent string) (previous string) {
	if r == nil {
		return ""
	}
	return r.run.SwapTrace(traceparent)
}
