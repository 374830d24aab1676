package mcpclient

import (
	"context"
	"log/slog"
	"runtime/debug"
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
// Inbound set the requests and notifications of the server. Calling next goes on; not calling
// it answers in its place. The handshake, pings, subscriptions and progress
// pass it by.
type Middleware func(next Handler) Handler

// Use adds middleware around all methods. The first one added is the outermost.
// It is folded in here, not at each call; calls under way are not affected.
func (c *Client) Use(m ...Middleware) { c.middleware.use(m) }

// middleware holds the two handlers that all messages go through, plain and
// with the middleware folded in.
type middleware struct {
	outer, inner Handler // as given to init

	mu      sync.Mutex
	chain   []Middleware // guarded by mu; what it holds is not modified
	changes int          // guarded by mu: how often chain has changed
	folded  int          // guarded by mu: the change that outbound and inbound have

	outbound, inbound atomic.Pointer[Handler]
}

func (m *middleware) init(outbound, inbound Handler) {
	m.outer, m.inner = outbound, inbound
	m.use(nil)
}

func (m *middleware) use(more []Middleware) {
	m.mu.Lock()
	m.chain = append(slices.Clip(m.chain), more...)
	chain := m.chain
	m.changes++
	change := m.changes
	m.mu.Unlock()
	out, in := m.outer, m.inner
	for _, layer := range slices.Backward(chain) { // the user's code, so without the lock
		out, in = layer(out), layer(in)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if change > m.folded {
		m.folded = change
		m.outbound.Store(&out)
		m.inbound.Store(&in)
	}
}

// send has a message of this client sent. A panic of user code is an error.
func (m *middleware) send(ctx context.Context, r *Request) (result any, err error) {
	defer r.client.recoverPanic(r.Method, &err)
	return (*m.outbound.Load())(ctx, r)
}

// receive has a message of the server handled, likewise.
func (m *middleware) receive(ctx context.Context, r *Request) (result any, err error) {
	defer r.client.recoverPanic(r.Method, &err)
	return (*m.inbound.Load())(ctx, r)
}

// recoverPanic turns a panic of the function that defers it into an error, so that it ends
// one handler and nothing else. The stack goes into the log alone: the error may reach
// the server.
func (c *Client) recoverPanic(what string, err *error) {
	if v := recover(); v != nil {
		p := &usercode.Panic{Value: v, Stack: debug.Stack()}
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
	answer, err := c.middleware.send(ctx, &asked.Request)
	if err != nil {
		return nil, err
	}
	result, ok := answer.(*Result)
	if !ok {
		return nil, mcp.Errorf(mcp.CodeInternal, "middleware answered with %T: want %T", answer, result)
	}
	return result, nil
}
