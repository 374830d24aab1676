package mcpserver

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json/jsontext"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/changes"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/internal/replay"
)

// Request is one request or notification. Middleware gets it as an argument, and [From]
// returns it from the context of a handler. Its methods are safe for concurrent use. They
// may be called on a nil Request, so that a handler can be tested without a server: they
// return zero values then. They may be called until the handler has returned. Work that
// continues after that uses the Request of the context that [Detach] returned.
type Request struct {
	method   string
	outbound bool        // the server sends the message
	durable  bool        // the tool that is called has the option Durable
	replayed bool        // the call was made before, see Replay
	replays  bool        // a question ends the run, and the client repeats the call with its answers
	asked    atomic.Bool // something was asked in this round

	ctx      context.Context // ends when the sender no longer waits for the reply
	route    route           // what the message goes through
	call     *dialect.Call
	in       *exchange.Inbound
	server   *Server
	detached *Background // nil unless the request was detached

	// The slot of the request among the running calls.
	running limit.RunningCall              // in use while the handlers run
	share   *limit.Share                   // limits of the owner; nil is unlimited
	lease   atomic.Pointer[exchange.Lease] // of the slot; nil until the call waits for its client

	// The questions and the memory of the handlers.
	handlers  lazyctx.Context // ends handlerContext
	run       replay.Run
	resumed   *resumption              // nil unless the request brings a state
	ending    sync.Mutex               // serialises the end of the run
	suspended *suspension              // guarded by ending: nil unless the run has ended with questions
	left      map[string]*replay.Value // guarded by ending: values of a run that has ended without
	boundTo   *[sha256.Size]byte       // what the call's states belong to; nil until it is needed

	outgoing   atomic.Pointer[outgoing]           // nil until the request sends a message
	subscriber atomic.Pointer[changes.Subscriber] // of a request that has subscribed to changes
}

// handlerContext is the context of a request's handlers. From finds the request by it. It
// ends with its parent, and when a question ends the run. It is the Request itself, and
// costs no memory.
type handlerContext Request

// Deadline implements context.Context.
func (c *handlerContext) Deadline() (time.Time, bool) { return c.handlers.Deadline() }

// Done implements context.Context.
func (c *handlerContext) Done() <-chan struct{} { return c.handlers.Done() }

// Err implements context.Context.
func (c *handlerContext) Err() error { return c.handlers.Err() }

type requestKey struct{}

// Value implements context.Context.
func (c *handlerContext) Value(key any) any {
	switch {
	case key == (requestKey{}):
		return (*Request)(c)
	case key == limit.OwnerKey:
		return (*Request)(c).owner()
	case key == limit.KeptKey:
		return c.server.kept
	}
	return c.handlers.Value(key)
}

// From returns the request that ctx belongs to, or nil when it belongs to none.
func From(ctx context.Context) *Request {
	r, _ := ctx.Value(requestKey{}).(*Request)
	return r
}

// Method returns the method of the message, such as tools/call, or "" when r is nil.
func (r *Request) Method() string {
	if r == nil {
		return ""
	}
	return r.method
}

// Params returns the params of the message as they were received. It returns nil when the
// message has none, when the server sends the message, and when r is nil. The result must
// not be modified.
func (r *Request) Params() jsontext.Value {
	if r == nil || r.outbound {
		return nil
	}
	return r.call.Params
}

// Outbound reports whether the server sends the message to its client, such as
// sampling/createMessage in the session era. It is false when r is nil.
func (r *Request) Outbound() bool { return r != nil && r.outbound }

// beginHandlers starts and returns the context of the request's handlers. It is called
// once, for requests and for notifications that are admitted like them.
func (r *Request) beginHandlers() context.Context {
	r.handlers.Begin(r.withTrace(), nil)
	return (*handlerContext)(r)
}

// hasHandlers reports whether the handlers run in the context of beginHandlers, which they do
// not for notifications of a session and detached work.
func (r *Request) hasHandlers() bool {
	return r.detached == nil && (r.running.Admitted || !r.call.ID.IsZero())
}

// owner returns the owner to whose limits the request counts. It is the zero Owner for a
// nil Request and for a request that the server sends.
func (r *Request) owner() (nobody limit.Owner) {
	if r == nil || r.in == nil {
		return nobody
	}
	return r.in.Owner()
}

// notificationContext returns the context of the handlers of a session's notification. It ends with the
// context of the message, not when the handlers return.
func (r *Request) notificationContext() context.Context {
	return context.WithValue(r.withTrace(), requestKey{}, r)
}

func (r *Request) withTrace() context.Context {
	if t := r.call.Meta.Trace(); t != (mcp.Trace{}) {
		return mcp.ContextWithTrace(r.ctx, t)
	}
	return r.ctx
}

// Store returns the Store of the server, as [Server.Store] does. It is nil when r is nil.
func (r *Request) Store() mcp.Store {
	if r == nil || r.server == nil {
		return nil
	}
	return r.server.Store()
}

// Principal returns the principal that sent the request. It is anonymous when r is nil.
func (r *Request) Principal() mcp.Principal { return exchange.PrincipalOf(r.Identity()) }

// Identity returns the authenticated identity of the sender: its principal, its scopes and
// their expiry. It must not be modified. It is nil when the sender was not authenticated
// and when r is nil. The local user (stdio, sockets, memory) has an Identity without
// scopes and needs none; [Request.RequireScopes] takes that into account.
func (r *Request) Identity() *mcp.Identity {
	if r == nil {
		return nil
	}
	return r.in.Identity
}

// Client returns the implementation that the client claims to be, which is not verified.
// The second result is false when the client sent none and when r is nil.
func (r *Request) Client() (mcp.Implementation, bool) {
	if r == nil || r.call.Client == nil {
		return mcp.Implementation{}, false
	}
	return *r.call.Client, true
}

// Capabilities returns the capabilities that the client has declared for this request:
// in the session era those of initialize, in the stateless era those of its metadata.
func (r *Request) Capabilities() mcp.ClientCapabilities {
	if r == nil {
		return mcp.ClientCapabilities{}
	}
	return *r.call.Capabilities
}

// Revision returns the protocol revision that the client speaks.
func (r *Request) Revision() mcp.Revision {
	if r == nil {
		return mcp.Revision{}
	}
	return r.call.Facts.Revision
}

// Meta returns the metadata (_meta) of the request without the members that the protocol
// defines.
func (r *Request) Meta() mcp.Meta {
	if r == nil {
		return nil
	}
	return r.call.Meta.User()
}

// Trace returns the W3C trace context of the request as it was received, with empty
// strings for parts that the client did not send. Valid parts are in the context of the
// handler, see mcp.TraceFrom.
func (r *Request) Trace() (traceParent, traceState, baggage string) {
	if r == nil {
		return "", "", ""
	}
	m := &r.call.Meta
	return m.TraceParent, m.TraceState, m.Baggage
}

// Header returns the headers of the HTTP request that contained the message, or nil over
// other transports. They must not be modified.
func (r *Request) Header() http.Header {
	if r == nil {
		return nil
	}
	return r.in.HTTP.Header
}

// TLS returns the state of the TLS connection that the message was received on, or nil.
func (r *Request) TLS() *tls.ConnectionState {
	if r == nil {
		return nil
	}
	return r.in.HTTP.TLS
}

// Decode decodes the params into out, a pointer. Its error is an *mcp.Error of
// CodeInvalidParams, which a handler can return as it is, or ErrNotInCall when r is nil.
func (r *Request) Decode(out any) error {
	if r == nil {
		return ErrNotInCall
	}
	return r.call.Decode(out)
}
