package exchange

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// ServeParams describe one connection to serve.
type ServeParams struct {
	Conn    mcp.Conn
	Core    Core
	Binding dialect.Binding
	// Identity is who has opened the connection, or nil when nobody has found that
	// out. When it expires nothing more is read, and what runs may still be
	// answered for ten minutes.
	Identity *mcp.Identity
	// Sender returns who sent the message that was read last, on connections whose
	// messages are authenticated one by one. They are all of one principal. Nil:
	// Identity has sent them all.
	Sender func() *mcp.Identity
	// HTTP describes the HTTP request that opened the connection, if one did.
	HTTP HTTPRequest
	// Address is where the connection comes from, as far as that tells clients apart.
	// The zero Addr stands for this machine and for what is not known.
	Address netip.Addr
	// Grace is how long requests that run when the client has said its last word
	// may still be answered, where the other direction lives on.
	Grace time.Duration
	// Draining ends the connection in an orderly way once it is closed: subscriptions
	// end with their result and new requests are refused, while running ones have
	// leavingGrace to be answered. Nil never is.
	Draining <-chan struct{}
}

// drainGrace is how long the requests of a connection may run on that this side
// is to end.
const drainGrace = 10 * time.Second

// ServeConn serves one connection until it ends or ctx does. The life of a
// message on it:
//
//	Read          a whole message, bounded by the pipe
//	 └─ Decode    request, notification, response, or a 2025-03-26 batch of them
//	     ├─ request       beside the others: Core.Request, then into the outbox
//	     ├─ cancellation  at once: ends the request that it names
//	     ├─ notification  to Session.QueueNotification: the handlers run in the order of arrival
//	     └─ response      at once: to the Ask that waits for it
//
// A malformed frame is answered and the connection goes on. When the connection
// ends every running request and notification handler is cancelled, notifications
// that are still queued are dropped, and ServeConn returns after the last handler
// has.
func ServeConn(ctx context.Context, p ServeParams) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &serving{ServeParams: p}
	listening, stopListening := context.WithCancelCause(ctx)
	defer stopListening(nil)
	c.listening = listening
	c.session = &Session{
		Principal: PrincipalOf(p.Identity),
		Owner:     limit.OwnerOf(PrincipalOf(p.Identity), p.Address, limit.NewMember()),
		Push:      c.push,
		End:       c.end,
	}
	c.handlers = newWorkerPool()
	c.replies = outbox{conn: p.Conn, unwritten: &c.session.unwritten, failed: c.writeFailed}
	c.session.Identify(p.Identity)
	c.session.Presence.Enter() // the connection is the client's stream
	defer context.AfterFunc(ctx, c.session.End)()
	if err := p.Core.Opened(c.session); err != nil {
		c.session.End()
		return err
	}
	leave := c.watchDraining(ctx)
	err := c.read(ctx)
	switch {
	case errors.Is(err, ErrExpired):
		c.expired.Store(true)
		c.awaitIdle(ctx, expiryGrace)
	case errors.Is(err, io.EOF) && p.Grace > 0:
		stopListening(errDisconnected)
		c.awaitIdle(ctx, p.Grace)
	}
	leave.stop()
	cancel(errDisconnected)
	c.session.Pending.Fail(errDisconnected)
	c.session.Running.CancelAll(errDisconnected)
	c.session.End()
	c.session.closeNotifications()
	c.handlers.close()
	p.Core.Closed(c.session)
	if errors.Is(err, io.EOF) || c.clientLeft.Load() {
		return nil
	}
	return err
}

// expiryGrace is how long what runs may still be answered when the credentials
// that opened the connection have expired.
const expiryGrace = 10 * time.Minute

// ErrExpired is the cause of what ends because credentials have expired.
var ErrExpired = errors.New("the credentials have expired")

// WhileValid returns a context that ends when the credentials of a sender do, with
// the cause ErrExpired. It needs one call of cancel.
func WhileValid(ctx context.Context, i *mcp.Identity) (_ context.Context, cancel context.CancelFunc) {
	if i == nil || i.Expires.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, i.Expires, ErrExpired)
}

// awaitIdle lets the running requests be answered and the queued notifications be
// handled, within the grace.
func (c *serving) awaitIdle(ctx context.Context, grace time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	_ = c.session.WaitIdle(ctx)
}

// retryAfterShutdown is after what time a request that a leaving server has refused may
// be sent again: to the one that takes over.
const retryAfterShutdown = time.Second

// ShuttingDown returns the refusal of a request that comes when the server is
// leaving. It has not been begun.
func ShuttingDown(method string) *mcp.Error {
	return mcp.RetryLaterf(mcp.CodeOverloaded, retryAfterShutdown, "%s: the server is shutting down", method)
}

// drainWatch waits to end a connection in an orderly way.
type drainWatch struct {
	cancel context.CancelFunc
	work   sync.WaitGroup
}

// watchDraining ends the connection once Leaving is closed. It needs one stop.
func (c *serving) watchDraining(ctx context.Context) *drainWatch {
	ctx, cancel := context.WithCancel(ctx)
	l := &drainWatch{cancel: cancel}
	if c.Draining == nil {
		return l
	}
	l.work.Go(func() {
		select {
		case <-c.Draining:
			c.draining.Store(true)
			c.awaitIdle(ctx, drainGrace)
			c.end()
		case <-ctx.Done():
		}
	})
	return l
}

func (l *drainWatch) stop() {
	l.cancel()
	l.work.Wait()
}

var errDisconnected = errors.New("the client has disconnected")

// serving is one connection being served.
type serving struct {
	ServeParams
	session  *Session
	handlers *workerPool
	replies  outbox
	// listening ends before the rest does: a subscription is not worth waiting for
	// once the client has said its last word.
	listening context.Context
	// ended says that this side has closed the connection; clientLeft, that the client had
	// left before, which a reply that cannot be written may tell sooner than Read;
	// expired, that nothing but replies may be sent any more.
	ended, clientLeft, expired atomic.Bool
	draining                   atomic.Bool // new requests are refused
}

func (c *serving) read(ctx context.Context) error {
	valid, cancel := WhileValid(ctx, c.Identity)
	defer cancel()
	for {
		if err := c.session.unwritten.awaitRoom(valid); err != nil {
			return err
		}
		data, err := c.Conn.Read(valid)
		if frame, ok := errors.AsType[*mcp.FrameError](err); ok {
			c.Core.LimitReached(mcp.LimitReached{Limit: mcp.LimitMessageBytes, Principal: c.session.Principal})
			c.refuse(ctx, mcp.Errorf(mcp.CodeInvalidRequest, "%s", frame.Reason))
			continue
		}
		if err != nil && ctx.Err() == nil && valid.Err() != nil {
			return ErrExpired
		}
		if err != nil {
			return err
		}
		from := c.sender()
		if jsonrpc.IsBatch(data) {
			c.batch(ctx, data, from)
			continue
		}
		m, err := jsonrpc.Decode(data, c.Core.Limits())
		if err != nil {
			c.malformed(ctx, err)
			continue
		}
		c.dispatch(ctx, c.inbound(m, from))
	}
}

// sender returns who sent the message that was read last.
func (c *serving) sender() *mcp.Identity {
	if c.Sender == nil {
		return c.Identity
	}
	from := c.Sender()
	c.session.Identify(from)
	return from
}

// dispatch starts on one message and does not wait for it, but for initialize:
// what follows it needs the session that it makes.
func (c *serving) dispatch(ctx context.Context, in *Inbound) {
	m := in.Message
	switch {
	case m.Kind == jsonrpc.Request && c.draining.Load():
		c.write(ctx, dialect.Refuse(m.ID, ShuttingDown(m.Method)).Body)
	case m.Kind == jsonrpc.Request && m.Method == mcp.MethodInitialize:
		c.write(ctx, reply(c.session.Begin(ctx, c.Core, in)))
	case m.Kind == jsonrpc.Request && m.Method == mcp.MethodListen:
		run := c.session.Begin(c.listening, c.Core, in)
		c.runConcurrently(func() []byte { return reply(run) })
	case m.Kind == jsonrpc.Request:
		run := c.session.Begin(ctx, c.Core, in)
		c.runConcurrently(func() []byte { return reply(run) })
	default:
		c.handleWithoutReply(ctx, in)
	}
}

// runConcurrently has f run beside the reader and writes the reply that it returns.
func (c *serving) runConcurrently(f func() []byte) {
	c.session.unwritten.add()
	c.handlers.submit(func() {
		if reply := f(); reply != nil {
			c.replies.put(reply)
			return
		}
		c.session.unwritten.written(1, 0)
	})
}

// handleWithoutReply takes a message that has no reply.
func (c *serving) handleWithoutReply(ctx context.Context, in *Inbound) {
	if in.Message.Kind == jsonrpc.Response {
		c.session.Pending.Resolve(in.Message)
		return
	}
	_ = c.Core.Notification(ctx, in) // one that is not valid has no reply either
}

// reply returns the reply to write, or nil when the caller cancelled the request.
func reply(run Run) []byte {
	r, wanted := run()
	if !wanted {
		return nil
	}
	return r.Body
}

func (c *serving) inbound(m jsonrpc.Message, from *mcp.Identity) *Inbound {
	return &Inbound{Message: m, Binding: c.Binding, Identity: from, Session: c.session, HTTP: c.HTTP, BackChannel: back{c.Conn}, Draining: c.Draining}
}

// push sends what belongs to no request.
func (c *serving) push(ctx context.Context, msg []byte) error {
	if c.expired.Load() {
		return ErrExpired
	}
	return c.Conn.Write(ctx, msg)
}

// back sends on the connection itself: all its messages share one way.
type back struct{ conn mcp.Conn }

func (b back) Send(ctx context.Context, msg []byte) error { return b.conn.Write(ctx, msg) }

func (c *serving) write(ctx context.Context, msg []byte) {
	if msg == nil {
		return
	}
	if err := c.Conn.Write(ctx, msg); err != nil {
		c.writeFailed(err)
	}
}

// writeFailed ends a connection that has failed to take a message.
func (c *serving) writeFailed(err error) {
	if left := errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE); left && !c.ended.Load() {
		c.clientLeft.Store(true)
	}
	c.end()
}

func (c *serving) end() {
	c.ended.Store(true)
	_ = c.Conn.Close()
}

func (c *serving) malformed(ctx context.Context, err error) {
	c.write(ctx, Malformed(err).Body)
}

func (c *serving) refuse(ctx context.Context, err *mcp.Error) {
	c.write(ctx, dialect.Refuse(jsonrpc.ID{}, err).Body)
}

// Malformed seals the answer to a frame that could not be decoded.
func Malformed(err error) dialect.Reply {
	var id jsonrpc.ID
	code := mcp.CodeInvalidRequest
	if d, ok := errors.AsType[*jsonrpc.DecodeError](err); ok {
		if d.Kind != jsonrpc.Response { // whose id is ours and answers nothing
			id = d.ID
		}
		if d.Code == jsonrpc.CodeParse {
			code = mcp.CodeParse
		}
	}
	return dialect.Refuse(id, mcp.Errorf(code, "%s", err))
}
