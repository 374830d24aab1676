package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// Request is one message as middleware sees it.
type Request struct {
	// Method of the message.
	Method string
	// Params of an outbound message are of a params type of package mcp, such as
	// *mcp.CallToolParams, or the argument of Client.Request. Params of an inbound
	// message are a raw jsontext.Value. They may be nil.
	Params any
	// Inbound reports whether the server sent the message.
	Inbound bool

	client       *Client
	result       any // pointer to decode the result into
	opts         callOptions
	notification bool
	facts        *dialect.Facts // revision of an inbound request
	layers       []*layer       // middleware that the message goes through
	trace        mcp.Trace      // in place of that of the context, see SetTrace
}

// Client returns the client that sends or receives the message.
func (r *Request) Client() *Client { return r.client }

// Revision returns the revision of an inbound request. For other messages it returns the
// revision that the client has negotiated.
func (r *Request) Revision() mcp.Revision {
	if r.facts != nil {
		return r.facts.Revision
	}
	return r.client.Revision()
}

// SetTrace sets the trace context that is sent with an outbound message, in place of that of its context
// (mcp.ContextWithTrace). Fields with an invalid format are left out; for a Trace without any the context decides. It is
// for middleware, before it calls the next Handler.
func (r *Request) SetTrace(t mcp.Trace) { r.trace = t.ValidFields() }

// Handler handles one request or notification. The result of an outbound request is a
// pointer to its result type, such as *mcp.CallToolResult. The result of a notification
// is nil.
type Handler func(ctx context.Context, r *Request) (any, error)

// Middleware wraps the handling of every message: outbound, the requests and
// notifications of this client; with Request.Inbound set, those of the server. A call
// goes through it once, even if the server requires input several times. The Handler
// that it returns calls next with the Request that it got, or answers itself. The
// handshake, pings, subscriptions and progress notifications do not go through
// middleware.
//
// A Middleware is called once by Use, not once for each method or message. State that it
// keeps is shared by all messages in both directions, so the returned Handler must be
// safe for concurrent use. The Handler may call the client. The Middleware itself must
// not call next.
type Middleware func(next Handler) Handler

// Use adds middleware for all methods. The first one added is the outermost. Use calls
// each Middleware once, on the goroutine of the caller. Messages in flight are not
// affected. Use panics if a Middleware is nil or returns nil.
func (c *Client) Use(m ...Middleware) {
	if err := c.middleware.use(m); err != nil {
		panic("mcpclient: Use: " + err.Error())
	}
}

// middleware holds the layers that each message goes through: those of Use, then those
// of extensions. Then roundTrip or route handles the message.
type middleware struct {
	mu         sync.Mutex
	used       []*layer // guarded by mu: of Use, the outermost first
	extensions []*layer // guarded by mu: of extensions, the outermost first

	current atomic.Pointer[[]*layer] // used and extensions; the slice is never modified
}

// layer is one constructed middleware. It is constructed once even if others are added
// later, because the next layer is found in the request.
type layer struct{ handle Handler }

// newLayers constructs middleware. It is called without a lock, because it runs user
// code.
func newLayers(added []Middleware) ([]*layer, error) {
	layers := make([]*layer, len(added))
	for i, m := range added {
		if m == nil {
			return nil, errors.New("a middleware is nil")
		}
		l := new(layer)
		l.handle = m(func(ctx context.Context, r *Request) (any, error) {
			if r.client == nil {
				return nil, fmt.Errorf("%s: middleware called next with a new Request, want the one that it got", r.Method)
			}
			return r.client.pass(ctx, r, slices.Index(r.layers, l)+1)
		})
		if l.handle == nil {
			return nil, errors.New("a middleware returned nil; want a Handler")
		}
		layers[i] = l
	}
	return layers, nil
}

// use adds layers of Use.
func (m *middleware) use(added []Middleware) error {
	layers, err := newLayers(added)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used = append(m.used, layers...)
	m.publishLocked()
	return nil
}

// addExtensions adds layers of extensions.
func (m *middleware) addExtensions(added []Middleware) error {
	layers, err := newLayers(added)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.extensions = append(m.extensions, layers...)
	m.publishLocked()
	return nil
}

func (m *middleware) publishLocked() {
	m.current.Store(new(slices.Concat(m.used, m.extensions)))
}

// pass runs the layers of a message from the given index on, then its handler.
func (c *Client) pass(ctx context.Context, r *Request, index int) (any, error) {
	switch {
	case index < len(r.layers):
		return r.layers[index].handle(ctx, r)
	case r.Inbound:
		return c.route(ctx, r)
	}
	return c.roundTrip(ctx, r)
}

// handle sends an outbound message, or handles an inbound one, through the middleware. A
// panic of user code is returned as an error.
func (c *Client) handle(ctx context.Context, r *Request) (result any, err error) {
	defer c.recoverPanic(r.Method, &err)
	r.layers = *c.middleware.current.Load()
	return c.pass(ctx, r, 0)
}

// recoverPanic turns a panic of the function that defers it into an error, so that a
// panic ends one handler and not the process. The stack is only logged, because the
// error may be sent to the server.
func (c *Client) recoverPanic(what string, err *error) {
	if v := recover(); v != nil {
		p := usercode.NewPanic(v)
		*err = p
		c.opts.logger().LogAttrs(c.ctx, slog.LevelError, "handler panicked", append(usercode.Attrs(p), slog.String("handler", what))...)
	}
}

// request sends a request through the middleware and returns its result.
func request[Result any](ctx context.Context, c *Client, method string, params any, opts []CallOption) (*Result, error) {
	sent := new(struct { // one allocation for both
		Request
		result Result
	})
	sent.Request = Request{Method: method, Params: params, client: c, result: &sent.result, opts: callOptionsOf(opts)}
	returned, err := c.handle(ctx, &sent.Request)
	if err != nil {
		return nil, err
	}
	result, ok := returned.(*Result)
	if !ok {
		return nil, mcp.Errorf(mcp.CodeInternal, "middleware returned a result of type %T, want %T", returned, result)
	}
	return result, nil
}
