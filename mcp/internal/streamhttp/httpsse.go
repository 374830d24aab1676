package streamhttp

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/internal/sse"
)

// SSEHandler is the endpoint of HTTP+SSE, for clients without Streamable HTTP. GET opens the
// event stream that carries the server's messages. Its first event names the address for
// POST: the same path with the unguessable id of the connection. A posted message is answered
// with 202 at once, and its reply is sent on the stream. The end of the stream ends the
// connection and cancels its requests. When the credentials that opened the stream expire,
// running requests are still answered and new messages are refused.
//
// Spec: 2024-11-05 basic/transports#http-with-sse
type SSEHandler struct {
	core    exchange.Core
	o       *Options
	gate    *originCheck
	life    *lifetime
	streams *quota
	posts   *sharedPosts // nil unless other processes take messages for the connections of this one

	mu    sync.Mutex
	conns map[string]*streamConn
}

var _ http.Handler = (*SSEHandler)(nil)

// NewSSEHandler returns the endpoint of a server. A nil Options gives the
// defaults. It panics when an allowed host or origin could never match. The
// handler needs one Close or Shutdown.
func NewSSEHandler(core exchange.Core, o *Options) *SSEHandler {
	e := &SSEHandler{
		core:    core,
		o:       o,
		gate:    newOriginCheck(o),
		life:    newLifetime(),
		streams: newStreamQuota(o),
		conns:   make(map[string]*streamConn),
	}
	e.posts = newSharedPosts(e)
	return e
}

// Shutdown refuses new connections, ends the others, and returns when the last
// handler has or ctx is done; the error is the cause of ctx then.
func (e *SSEHandler) Shutdown(ctx context.Context) error {
	e.life.begin()
	return e.life.wait(ctx)
}

// Close is Shutdown without a limit.
func (e *SSEHandler) Close() error { return e.Shutdown(context.Background()) }

const eventStreamMethods = "GET, POST"

// ServeHTTP serves both methods on one path.
func (e *SSEHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer e.o.abortOnPanic(r)
	e.o.setConnectionClose(w.Header())
	if refused := e.serve(w, r); refused != nil {
		e.o.report(refused, r)
		writeRefusal(w, r, refused)
	}
}

func (e *SSEHandler) serve(w http.ResponseWriter, r *http.Request) *refusal {
	if refused := e.gate.admit(w, r); refused != nil {
		return refused
	}
	limit.AdmitConn(r.Context())
	if !e.life.running.Join() {
		return shuttingDown
	}
	defer e.life.running.Leave()
	switch {
	case r.Method == http.MethodPost:
		return e.post(w, r)
	case r.Method == http.MethodGet:
		return e.get(w, r)
	case e.gate.preflight(w, r, eventStreamMethods):
		return nil
	}
	return notAllowed(r, eventStreamMethods)
}

// get serves one connection from its first event to its end.
func (e *SSEHandler) get(w http.ResponseWriter, r *http.Request) *refusal {
	if wantsPage(r.Header) {
		return page(http.StatusNotAcceptable)
	}
	if refused := checkAccept(r.Header, httpheader.TypeEventStream); refused != nil {
		return refused
	}
	if refused := e.life.refuses(); refused != nil {
		return refused
	}
	by := mcp.IdentityFrom(r.Context())
	p := exchange.PrincipalOf(by)
	ctx := lazyctx.New(r.Context(), e.life.streams)
	defer ctx.Cancel(nil)
	owner := e.o.ownerOf(r, by, limit.NewMember())
	release, refused := e.streams.takeStream(r, owner, ctx.Cancel)
	if refused != nil {
		return refused
	}
	defer release()
	valid, forget := exchange.WhileValid(ctx, by)
	defer forget()
	out := newResponder(w, e.o, ctx) // without unsent, because ServeConn counts the replies
	c := newStreamConn(e.posts.newID(r.Context()), p, out, valid)
	defer c.out.abandon()
	defer c.close() // waits for a Close in progress, which uses w
	e.enter(c)
	defer e.remove(c)
	if c.out.open(sse.Event{Name: "endpoint", Data: []byte(endpoint(r, c.id))}) != nil {
		return nil
	}
	address := AddressOf(r, e.o.orZero().TrustedProxies)
	// An error ends the connection, and there is no client left to report it to.
	_ = exchange.ServeConn(ctx, exchange.ServeParams{
		Conn: c, Core: e.core, Binding: dialect.EventStream, Identity: by, Sender: c.sender, HTTP: exchange.DescribeHTTP(r),
		Address:  address,
		Draining: e.life.streamsOf(r).Done(),
		Wire:     exchange.NewWire(e.o.orZero().OnMessage, e.o.logger()).Of(by, address),
	})
	return nil
}

// sessionParam is the query parameter that names the connection of a POST.
const sessionParam = "sessionId"

// endpoint returns the address for POST, relative to the origin alone: an
// absolute path as the client sent it, which cannot be read as another host.
func endpoint(r *http.Request, id string) string {
	path := r.URL.EscapedPath()
	if u, err := url.ParseRequestURI(r.RequestURI); err == nil {
		path = u.EscapedPath()
	}
	return "/" + strings.TrimLeft(path, "/") + "?" + sessionParam + "=" + id
}

// post hands one message to its connection. It waits for the connection to take
// it, so that no more than one body waits per request.
func (e *SSEHandler) post(w http.ResponseWriter, r *http.Request) *refusal {
	if refused := checkContent(r.Header); refused != nil {
		return refused
	}
	body, refused := readBody(w, r, e.o.maxBody())
	if refused != nil && refused.head == nil {
		return refused
	}
	by := mcp.IdentityFrom(r.Context())
	c := e.find(r.URL.Query().Get(sessionParam), exchange.PrincipalOf(by))
	switch {
	case c == nil && refused != nil:
		return refused
	case c == nil:
		return e.posts.forward(w, r, by, body).afterBody()
	}
	message := posted{msg: body, by: by}
	if refused != nil {
		message.err = &mcp.FrameError{Reason: refused.err.Message, Head: refused.head}
	}
	switch taken := c.take(r.Context(), message); {
	case taken && refused != nil:
		refused.limit = "" // The connection reports it.
		return refused
	case taken:
		w.WriteHeader(http.StatusAccepted)
	case r.Context().Err() == nil:
		return noConnection.afterBody()
	}
	return nil
}

// take hands a message to the connection. It waits for the connection to take it, and reports
// whether it has before it ended, or ctx did.
func (c *streamConn) take(ctx context.Context, message posted) bool {
	select {
	case c.in <- message:
		return true
	case <-c.done:
	case <-c.valid.Done():
	case <-ctx.Done():
	}
	return false
}

var noConnection = refuse(http.StatusNotFound, "connection: not found: open the event stream and use the address that its first event names; Streamable HTTP has another address, by default /mcp")

func (e *SSEHandler) enter(c *streamConn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.conns[c.id] = c
}

func (e *SSEHandler) remove(c *streamConn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.conns, c.id)
}

// find returns the connection with that id and principal, or nil, so that a client cannot
// distinguish the id of another principal from an unknown one.
func (e *SSEHandler) find(id string, p mcp.Principal) *streamConn {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.conns[id]
	if c == nil || c.principal != p {
		return nil
	}
	return c
}

// streamConn is one connection of HTTP+SSE as an mcp.Conn.
type streamConn struct {
	id        string
	principal mcp.Principal
	in        chan posted
	out       *responder
	done      chan struct{}
	close     func()          // ends Read and Write; the first call does, and the others wait for it
	valid     context.Context // ends with the credentials that opened the stream
	last      *mcp.Identity   // the sender of the message that Read returned last
}

// posted is one message, or the error of one that is too long, and its sender.
type posted struct {
	msg []byte
	err error
	by  *mcp.Identity
}

var _ mcp.Conn = (*streamConn)(nil)

func newStreamConn(id string, p mcp.Principal, out *responder, valid context.Context) *streamConn {
	c := &streamConn{id: id, principal: p, in: make(chan posted), out: out, done: make(chan struct{}), valid: valid}
	c.close = sync.OnceFunc(func() {
		close(c.done)
		out.close()
	})
	return c
}

func (c *streamConn) Read(ctx context.Context) ([]byte, error) {
	select {
	case p := <-c.in:
		c.last = p.by
		return p.msg, p.err
	case <-c.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// sender may be called only by the goroutine that calls Read.
func (c *streamConn) sender() *mcp.Identity { return c.last }

func (c *streamConn) Write(ctx context.Context, msg []byte) error { return c.out.Send(ctx, msg) }

func (c *streamConn) Close() error {
	c.close()
	return nil
}
