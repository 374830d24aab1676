package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// Request does one request, on the goroutine that the pipe gave it:
//
//	pipe (stdio line, HTTP POST, memory)       size, depth and time are bounded
//	 └─ jsonrpc.Decode                         kind, id, method, raw params
//	     └─ dialect.Open                       era, revision, _meta, headers → Call
//	         └─ route                          the method's handler and the middleware around it
//	             └─ authorize                  the scopes of the method and of what it names
//	             └─ middleware                 layer by layer
//	                 └─ listTools, callTool, … and in it the author's function
//	     └─ encode                             the shape of the revision, bounded
//	     └─ reveal                             what the peer may learn of an error
//	     └─ Call.Seal                          envelope, error number
//	 └─ pipe writes                            one buffer, one write; over HTTP what is large in parts
func (c core) Request(ctx context.Context, in *exchange.Inbound) dialect.Reply {
	call, err := c.dialect.Open(in.Message, in.TransportInfo())
	if err != nil {
		return call.Reply(nil, err)
	}
	result, err := c.route(ctx, call, in)
	if err != nil {
		return call.Reply(nil, c.reveal(ctx, call, err))
	}
	encoded, err := c.encode(call, in.Principal(), result)
	return call.Reply(encoded, c.reveal(ctx, call, err))
}

// encode brings a result into the shape of the caller's revision. What cannot
// be encoded, such as text that is not UTF-8, and what is too large, is a
// mistake of the author and none of the caller's business.
func (s *Server) encode(call *dialect.Call, who mcp.Principal, result any) (e *dialect.Encoded, err error) {
	defer contain(&err) // user types encode themselves
	e, err = call.Encode(result)
	switch {
	case err != nil:
	case e.Size() > s.options.maxResult():
		s.limits.Reached(mcp.LimitReached{Limit: mcp.LimitResultBytes, Principal: who, Method: call.Method})
		err = fmt.Errorf("the result has %d bytes, the limit is %d", e.Size(), s.options.maxResult())
	case !s.extensions.mayAnswer(call, e.Type()):
		err = fmt.Errorf("the result has the type %q, which the client does not know: want one of an extension that it declared", e.Type())
	}
	return e, err
}

func (s *Server) route(ctx context.Context, call *dialect.Call, in *exchange.Inbound) (result any, err error) {
	way := s.middleware.route(call)
	if way.handler == nil {
		return nil, mcp.Errorf(mcp.CodeMethodNotFound, "method %q: not found", call.Method)
	}
	if err := s.drain.enter(call.Method); err != nil {
		return nil, err
	}
	defer s.drain.leave()
	share, err := s.admit(ctx, call, in)
	if err != nil {
		return nil, err
	}
	r := &Request{share: share, Method: call.Method, Params: call.Params, ctx: ctx, way: way, call: call, in: in, server: s}
	defer r.leavePlace()
	defer r.end()
	defer contain(&err)
	if err := s.authorize(r); err != nil {
		return nil, err
	}
	defer r.releaseRun()
	if err := r.beginRun(); err != nil {
		return nil, err
	}
	result, err = s.handle(r)
	return r.endRun(result, err)
}

// handle runs the handlers of a request that was let in. From here on it can be ended
// to make room.
func (s *Server) handle(r *Request) (result any, err error) {
	ctx := r.context()
	if unmetered[r.Method] {
		return r.way.from(ctx, r, 0)
	}
	s.admission.start(r)
	defer func() { result, err = s.admission.finish(r, result, err) }()
	return r.way.from(ctx, r, 0)
}

// Notification takes one notification. The library's own part is done at once, so
// that what the client sends next finds it done; middleware and the author's handler
// run behind the session's earlier notifications:
//
//	pipe → jsonrpc.Decode → dialect.Open
//	 ├─ notifications/cancelled                ends the request, at once
//	 ├─ notifications/initialized              the session hears of changes, at once
//	 └─ route                                  no handler: dropped
//	     └─ Session.PutNote                    one after the other; without a session at once
//	         └─ handle                         middleware, the handler; errors and panics are logged
func (c core) Notification(ctx context.Context, in *exchange.Inbound) error {
	call, err := c.dialect.Open(in.Message, in.TransportInfo())
	if err != nil {
		return err
	}
	if id, ok := dialect.CancelledID(in.Message); ok {
		if in.Session != nil {
			in.Session.Running.Cancel(id, errCancelled)
		}
		return nil
	}
	if call.Method == mcp.NotificationInitialized {
		c.initialized(in.Session)
	}
	way := c.middleware.route(call)
	if way.handler == nil {
		return nil
	}
	r := &Request{Method: call.Method, Params: call.Params, ctx: ctx, way: way, call: call, in: in, server: c.Server}
	if in.Session == nil {
		r.handleNotification()
		return nil
	}
	if !in.Session.PutNote(r.handleNotification, len(in.Message.Params)+notificationSize) {
		c.reached(mcp.LimitNotifications, in, call.Method)
	}
	return nil
}

// notificationSize is about how many bytes a queued notification takes besides its
// params.
const notificationSize = 1 << 10

// handleNotification runs the handlers of a notification.
func (r *Request) handleNotification() {
	ctx := r.lasting()
	err := usercode.Run(func() error {
		_, err := r.way.from(ctx, r, 0)
		return err
	})
	r.server.logNotification(ctx, r.call, err)
}

var errCancelled = errors.New("cancelled by the client")

// panicked is the error that a panic in user code becomes.
type panicked = usercode.Panic

// contain turns a panic into an error, so that it ends one call and nothing else.
func contain(err *error) {
	if v := recover(); v != nil {
		*err = &panicked{Value: v, Stack: debug.Stack()}
	}
}

// background runs user code that nobody waits for: an error or a panic is logged.
func (s *Server) background(ctx context.Context, what string, run func() error, attrs ...slog.Attr) {
	if err := usercode.Run(run); err != nil {
		s.options.logger().LogAttrs(ctx, slog.LevelError, what+" failed", append(attrs, usercode.Attrs(err)...)...)
	}
}
