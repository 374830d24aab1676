package mcpserver

import (
	"context"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// ContinueAs arranges that any replica can reply to the request: when this process ends, the
// client resumes its event stream at another one, which calls Extension.Continue with the name of
// the work. It returns when that ends, at expires or with the session if that is earlier.
//
// ok is false if the reply is lost with this process: for every request but those of a session of
// Streamable HTTP, alone in its POST, whose client accepts an event stream, of a revision with
// resumption, on a server with Options.Keys, Store, Bus and HTTPOptions.Events; while the Store
// fails; for the second call of ContinueAs; and when r is nil. The work must be in the Store before
// it does anything, and known to Extension.Abandon.
func (r *Request) ContinueAs(ctx context.Context, extension, work string, expires time.Time) (until time.Time, ok bool) {
	c := r.continuer()
	if c == nil {
		return expires, false
	}
	return c.Continue(ctx, extension+" "+work, expires)
}

// OnReplyStored has f called, on a goroutine of its own, once the reply is in the EventStore, where
// every replica finds it. It is for requests for which ContinueAs has succeeded, and those of
// Extension.Continue; for others, and when r is nil, it does nothing.
func (r *Request) OnReplyStored(f func()) {
	if c := r.continuer(); c != nil {
		c.OnReplyStored(f)
	}
}

// LeaveReply leaves the reply to another replica if the server is shut down, or to the stream on
// which this one has continued the request since, and reports whether it does: then what the
// handler returns is not sent. It is for the same requests as OnReplyStored.
func (r *Request) LeaveReply() bool {
	c := r.continuer()
	if c == nil || r.server.life.Err() == nil && context.Cause(r.ctx) != exchange.ErrContinued {
		return false
	}
	c.Leave()
	return true
}

// continuer returns nil if no other process can reply to the request.
func (r *Request) continuer() exchange.Continuer {
	if r == nil || r.in == nil {
		return nil
	}
	c, _ := r.in.BackChannel.(exchange.Continuer)
	return c
}

// Continued implements exchange.Core.
func (c core) Continued(ctx context.Context, in *exchange.Inbound, work string) dialect.Reply {
	call, err := c.dialect.Open(in.Message, in.TransportInfo())
	if err != nil {
		return call.Reply(nil, err)
	}
	result, err := c.continued(ctx, call, in, work)
	if err != nil {
		return call.Reply(nil, c.publicError(ctx, call, err))
	}
	encoded, err := c.encode(call, in.Principal(), result)
	return call.Reply(encoded, c.publicError(ctx, call, err))
}

// continued is route for a request that was admitted in another process, whose middleware has run
// there.
func (s *Server) continued(ctx context.Context, call *dialect.Call, in *exchange.Inbound, work string) (result any, err error) {
	extension, id, _ := strings.Cut(work, " ")
	e := s.extensions.of(extension)
	switch {
	case e == nil || e.Continue == nil:
		return nil, errNotContinued
	case !s.requests.Enter():
		return nil, exchange.ShuttingDown(call.Method)
	}
	defer s.requests.Leave()
	r := &Request{method: call.Method, ctx: ctx, route: s.middleware.lookup(call), call: call, in: in, server: s, replayed: true}
	r.lease.Store(endedLease) // it only waits, and has no slot
	defer r.end()
	defer usercode.Contain(&err)
	defer r.releaseRun()
	if err := r.beginRun(); err != nil {
		return nil, err
	}
	result, err = e.Continue(r.beginHandlers(), r, id)
	return r.endRun(result, err)
}

// errNotContinued is the error of a call that a server of another version has begun.
var errNotContinued = mcp.Errorf(mcp.CodeInternal, "the replica that ran the call has ended, and this one cannot continue it; the call may have run")

// Abandon implements exchange.Core.
func (c core) Abandon(ctx context.Context, work string) {
	extension, id, _ := strings.Cut(work, " ")
	e := c.extensions.of(extension)
	if e == nil || e.Abandon == nil {
		return
	}
	c.runLogged(ctx, "Abandon of extension "+e.ID, func() error { e.Abandon(ctx, id); return nil })
}
