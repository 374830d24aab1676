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
	// Params of an outbound message are a params type of the vocabulary, such as
	// *mcp.CallToolParams, or what was given to Client.Request; those of an
	// inbound one are the raw jsontext.Value. They may be nil.
	Params any
	// Inbound tells that the server sent the message.
	Inbound bool

	client       *Client
	result       any // what an answer is decoded into
	opts         callOptions
	notification bool           // a notification
	facts        *dialect.Facts // of an inbound request
	layers       []*layer       // of middleware that the message goes through
}

// Client returns the client that sends or gets the message.
func (r *Request) Client() *Client { return r.client }

// Revision returns the revision in which an inbound request came, and otherwise
// the one that is spoken now.
func (r *Request) Revision() mcp.Revision {
	if r.facts != nil {
		return r.facts.Revision
	}
	return r.client.Revision()
}

// Handler does one request or notification. The result of an outbound request
// is a pointer to its result type, such as *mcp.CallToolResult; that of a
// notification is nil.
type Handler func(ctx context.Context, r *Request) (any, error)

// Middleware wraps the handling of every message: the calls and notifications of
// this client, a call once however often the server asks for input, and with
// Inbound set the requests and notifications of the server. The Handler that it
// returns calls next, with the Request that it got, to go on; one that does not call
// next answers in its place. The handshake, pings, subscriptions and progress do not
// go through middleware.
//
// It is called once by each Use, not once for each method or message, and what it
// keeps is shared by all messages in both directions: the Handler that it returns has
// to be safe for concurrent use. It may call the client. next is not to be called
// before the first message.
type Middleware func(next Handler) Handler

// Use adds middleware around all methods. The first one added is the outermost. Each
// is called once, on the goroutine of the caller; messages under way are not
// affected. Use panics when a middleware is nil or returns nil.
func (c *Client) Use(m ...Middleware) {
	if err := c.middleware.use(m); err != nil {
		panic("mcpclient: Use: " + err.Error())
	}
}

// middleware is what all messages go through: the layers of Use, then those of
// extensions, then roundTrip or route.
type middleware struct {
	mu         sync.Mutex
	used       []*layer // guarded by mu: of Use, the outermost first
	extensions []*layer // guarded by mu: likewise

	current atomic.Pointer[[]*layer] // both; not modified
}

// layer is one middleware. It is constructed once, whatever is added later: which
// layer comes next is read from the request.
type layer struct{ handle Handler }

// newLayers constructs middleware, whose code must not run under a lock.
func newLayers(more []Middleware) ([]*layer, error) {
	layers := make([]*layer, len(more))
	for i, m := range more {
		if m == nil {
			return nil, errors.New("a middleware is nil")
		}
		l := new(layer)
		l.handle = m(func(ctx context.Context, r *Request) (any, error) {
			if r.client == nil {
				return nil, fmt.Errorf("%s: middleware called next with a Request of its own; want the one that it got", r.Method)
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
func (m *middleware) use(more []Middleware) error {
	layers, err := newLayers(more)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used = append(m.used, layers...)
	m.publishLocked()
	return nil
}

// extend adds layers of extensions.
func (m *middleware) extend(more []Middleware) error {
	layers, err := newLayers(more)
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

// pass runs the layers of a message from that index on, then its handler.
func (c *Client) pass(ctx context.Context, r *Request, index int) (any, error) {
	switch {
	case index < len(r.layers):
		return r.layers[index].handle(ctx, r)
	case r.Inbound:
		return c.route(ctx, r)
	}
	return c.roundTrip(ctx, r)
}

// handle has a message sent, or one of the server handled. A panic of user code is an
// error.
func (c *Client) handle(ctx context.Context, r *Request) (result any, err error) {
	defer c.recoverPanic(r.Method, &err)
	r.layers = *c.middleware.current.Load()
	return c.pass(ctx, r, 0)
}

// recoverPanic turns a panic of the function that defers it into an error, so that it ends
// one handler and nothing else. The stack goes into the log alone: the error may reach
// the server.
func (c *Client) recoverPanic(what string, err *error) {
	if v := recover(); v != nil {
		p := usercode.NewPanic(v)
		*err = p
		c.opts.logger().LogAttrs(c.ctx, slog.LevelError, "handler panicked", append(usercode.Attrs(p), slog.String("handler", what))...)
	}
}

// request sends a request through the middleware and returns its result.
func request[Result any](ctx context.Context, c *Client, method string, params any, opts []CallOption) (*Result, error) {
	asked := new(struct { // one allocation for both
		Request
		result Result
	})
	asked.Request = Request{Method: method, Params: params, client: c, result: &asked.result, opts: callOptionsOf(opts)}
	answer, err := c.handle(ctx, &asked.Request)
	if err != nil {
		return nil, err
	}
	result, ok := answer.(*Result)
	if !ok {
		return nil, mcp.Errorf(mcp.CodeInternal, "middleware answered with %T: want %T", answer, result)
	}
	return result, nil
}
