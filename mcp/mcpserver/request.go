package mcpserver

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json/jsontext"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/changes"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/internal/replay"
)

// Request is one request or notification, as middleware gets it and as [From] finds
// it in the context of handlers. Its methods may be called on a nil Request, which
// knows nothing, so that a handler can be tested without a server, and are safe for
// concurrent use. They may be called until the handler has returned; work that goes on
// calls them on the Request of the context that [Detach] returned.
type Request struct {
	method   string
	params   jsontext.Value
	outbound bool // the server sends the message
	replays  bool // the client makes the call again with its answers
	over     bool // guarded by sending: the call has ended

	ctx      context.Context // ends when nobody waits for the message any more
	way      way             // what the message goes through
	call     *dialect.Call
	in       *exchange.Inbound
	server   *Server
	detached *Background // nil unless the request was answered and its work goes on

	// What the request holds among all that run.
	running limit.RunningCall              // while the handlers run
	share   *limit.Share                   // that its place counts for; nil has no bounds
	lease   atomic.Pointer[exchange.Lease] // of the place; nil until the call waits for its client

	// What the handlers have asked and remembered.
	handlers  runContext // the context of the handlers
	run       replay.Run
	resumed   *resumption              // nil unless the request brings a state
	ending    sync.Mutex               // serialises the end of the run
	suspended *suspension              // guarded by ending: nil unless the run has ended with questions
	left      map[string]*replay.Value // guarded by ending: values of a run that has ended without
	boundTo   *[sha256.Size]byte       // what the call's states belong to; nil until it is needed

	progress progress
	logs     logLimit
	watching atomic.Pointer[changes.Subscriber] // to which a request to hear of changes has led
	sending  sync.Mutex                         // not held while a message is sent, which may run user code
	sends    sync.WaitGroup                     // messages being sent; Add needs sending, and not over
}

// runContext is the context of a request's handlers, by which they are known to belong to
// it. It ends with what they are begun in, and when a question ends their run.
type runContext struct {
	lazyctx.Context
	of *Request
}

type requestKey struct{}

// Value implements context.Context.
func (c *runContext) Value(key any) any {
	switch {
	case key == (requestKey{}):
		return c.of
	case key == limit.OwnerKey:
		return c.of.owner()
	}
	return c.Context.Value(key)
}

// From returns the request that ctx belongs to, or nil outside of one.
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

// Params returns the params of the message as they came, or nil when it has none, when
// the server sends the message, and when r is nil. They must not be modified.
func (r *Request) Params() jsontext.Value {
	if r == nil {
		return nil
	}
	return r.params
}

// Outbound reports whether the server sends the message to its client, instead of
// receiving it, as with sampling/createMessage in the session era. It is false when r
// is nil.
func (r *Request) Outbound() bool { return r != nil && r.outbound }

// context returns the context of the request's handlers. It is asked for once.
func (r *Request) context() context.Context {
	r.handlers.of = r
	r.handlers.Begin(r.traced(), nil)
	return &r.handlers
}

// owner returns for whom the request counts. Nil, and a request that the server sends,
// count for nobody in particular.
func (r *Request) owner() (nobody limit.Owner) {
	if r == nil || r.in == nil {
		return nobody
	}
	return r.in.Owner()
}

// lasting returns the context of a notification's handlers, which ends with that in
// which it came and not with the handlers.
func (r *Request) lasting() context.Context {
	return context.WithValue(r.traced(), requestKey{}, r)
}

func (r *Request) traced() context.Context {
	if t := r.call.Meta.Trace(); t != (mcp.Trace{}) {
		return mcp.ContextWithTrace(r.ctx, t)
	}
	return r.ctx
}

// Store returns where the server of the request keeps state, as Server.Store does. It
// is nil outside of a request.
func (r *Request) Store() mcp.Store {
	if r == nil || r.server == nil {
		return nil
	}
	return r.server.Store()
}

// Principal returns who sends the request. Outside of a request it is anonymous.
func (r *Request) Principal() mcp.Principal { return exchange.PrincipalOf(r.Identity()) }

// Identity returns what was found out about who sends the request: principal,
// scopes, and until when they hold. It is not to be modified. Nil: nothing was
// found out, or ctx belongs to no request. The user of this machine has an Identity
// without scopes, and is asked for none; RequireScopes knows that.
func (r *Request) Identity() *mcp.Identity {
	if r == nil {
		return nil
	}
	return r.in.Identity
}

// Client returns what the client says of itself, which may be a lie, and false
// when it does not say.
func (r *Request) Client() (mcp.Implementation, bool) {
	if r == nil || r.call.Client == nil {
		return mcp.Implementation{}, false
	}
	return *r.call.Client, true
}

// Capabilities returns what the client has declared for this request.
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

// Meta returns the metadata of the request that does not belong to the protocol.
func (r *Request) Meta() mcp.Meta {
	if r == nil {
		return nil
	}
	return r.call.Meta.User()
}

// Trace returns the W3C trace context of the request as it came, with empty strings
// where the client sent none. What of it follows the formats is in the context of
// the handler, see mcp.TraceFrom.
func (r *Request) Trace() (traceParent, traceState, baggage string) {
	if r == nil {
		return "", "", ""
	}
	m := &r.call.Meta
	return m.TraceParent, m.TraceState, m.Baggage
}

// Header returns the HTTP headers that the request came with, or nil over other
// transports.
func (r *Request) Header() http.Header {
	if r == nil {
		return nil
	}
	return r.in.HTTP.Header
}

// TLS returns the state of the TLS connection that the request came over, or nil.
func (r *Request) TLS() *tls.ConnectionState {
	if r == nil {
		return nil
	}
	return r.in.HTTP.TLS
}

// Decode decodes the params into out. A failure is an error that the client may
// read.
func (r *Request) Decode(out any) error {
	if r == nil {
		return ErrNotInCall
	}
	return r.call.Decode(out)
}
