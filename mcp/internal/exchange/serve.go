package exchange

import (
	"context"
	"errors"
	"fmt"
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
	// Identity is the authenticated client that opened the connection, or nil. When it
	// expires nothing more is read, and running requests have ten minutes to be answered.
	Identity *mcp.Identity
	// Sender returns the sender of the message that was read last, on connections whose
	// messages are authenticated one by one. All senders have the same principal. If
	// Sender is nil, Identity is the sender of every message.
	Sender func() *mcp.Identity
	// HTTP describes the HTTP request that opened the connection, if one did.
	HTTP HTTPRequest
	// Address is the client's address, which limits use to distinguish anonymous clients.
	// The zero Addr stands for this machine and for an unknown address.
	Address netip.Addr
	// Grace is how long running requests may still be answered after the client has closed
	// its direction of the connection while the other one stays open. Requests to the client, and
	// later ones, fail at once. If a request is not answered in time, ServeConn returns an error.
	Grace time.Duration
	// Draining shuts the connection down when it is closed: subscriptions end with their
	// result, new requests are refused, and running ones have drainGrace to be answered.
	// Nil is never closed.
	Draining <-chan struct{}
	// Wire gets the messages of the connection. Nil: nobody does.
	Wire *Wire
}

// drainGrace is how long the requests of a connection may run on that this side
// is to end.
const drainGrace = 10 * time.Second

// ServeConn serves one connection until it ends or ctx does. Each message is processed
// like this:
//
//	Read          a whole message, bounded by the pipe
//	 └─ Decode    request, notification, response, or a 2025-03-26 batch of them
//	     ├─ request       concurrently: Core.Request (mcpserver/serve.go), then into the outbox
//	     ├─ cancellation  at once: Core.Notification (mcpserver/notification.go) ends the request
//	     ├─ notification  to Session.QueueNotification: the handlers run in the order of arrival
//	     └─ response      at once: to the SendRequest that waits for it
//
// A malformed frame is answered with an error (malformed.go), and reading continues. When the connection
// ends, every running request and notification handler is cancelled and queued notifications
// are dropped. ServeConn returns after the last handler has returned.
func ServeConn(ctx context.Context, p ServeParams) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.Conn = p.Wire.Wired(p.Conn)
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
	c.replies.unsent, c.replies.owner = c.session.Unsent, c.session.Owner
	c.replies.evict = func() { cancel(errMadeRoom) }
	drain := c.watchDraining(ctx)
	err := c.read(ctx)
	var unanswered error
	switch {
	case errors.Is(err, ErrExpired):
		c.expired.Store(true)
		_ = c.awaitIdle(ctx, expiryGrace)
	case errors.Is(err, io.EOF) && p.Grace > 0:
		stopListening(errDisconnected)
		c.session.Pending.Fail(errCannotAnswer)
		if c.awaitLastReplies(ctx) != nil && ctx.Err() == nil {
			unanswered = c.unansweredError()
		}
	}
	drain.stop()
	if errors.Is(context.Cause(ctx), errMadeRoom) {
		err = errMadeRoom
		c.reachedUnsent("")
	}
	cancel(errDisconnected)
	c.session.Pending.Fail(errDisconnected)
	c.session.Running.CancelAll(errDisconnected)
	c.session.End()
	c.session.closeNotifications()
	c.handlers.close()
	p.Core.Closed(c.session)
	if c.clientLeft.Load() && err != errMadeRoom {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return unanswered
	}
	if failed := c.unwritable.Load(); failed != nil && errors.Is(err, io.ErrClosedPipe) {
		return *failed
	}
	return err
}

// errMadeRoom ends the connection of an owner that has most unread results.
var errMadeRoom = errors.New("ended to make room: the client has not read large results, and another one needs the memory")

func (c *serving) reachedUnsent(method string) {
	c.Core.LimitReached(mcp.LimitReached{Limit: mcp.LimitUnsent, Principal: c.session.Principal, Method: method})
}

// limited returns a reply for which there is room among the unsent results of all
// connections: the reply itself, or an error in its place. Of a batch that has no room
// none is answered, and the connection ends.
func (c *serving) limited(id jsonrpc.ID, method string, reply []byte) []byte {
	if c.replies.reserve(len(reply)) == nil {
		return reply
	}
	if id.IsZero() {
		c.replies.evict()
		return nil
	}
	c.reachedUnsent(method)
	refusal := dialect.Refuse(id, mcp.Errorf(mcp.CodeOverloaded,
		"%s: the result of %d bytes was dropped, because too many bytes of results wait to be read; want them read first", method, len(reply))).Body
	c.replies.countRefusal(len(refusal))
	return refusal
}

// expiryGrace is how long running requests may still be answered after the credentials that
// opened the connection have expired.
const expiryGrace = 10 * time.Minute

// awaitIdle waits, at most for grace, until the running requests are answered and the queued
// notifications are handled. Its error says that they are not.
func (c *serving) awaitIdle(ctx context.Context, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	return c.session.WaitIdle(ctx)
}

// hangUpInterval is the time between two looks whether the client still reads replies after the end of
// its input.
const hangUpInterval = 250 * time.Millisecond

// hangUpConn is a connection that can tell whether its peer has closed both directions.
type hangUpConn interface{ IsHungUp() bool }

// awaitLastReplies is awaitIdle with Grace. It ends early when the client has closed both directions.
func (c *serving) awaitLastReplies(ctx context.Context) error {
	peer, ok := c.Conn.(hangUpConn)
	if !ok {
		return c.awaitIdle(ctx, c.Grace)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	idle := make(chan error, 1)
	go func() { idle <- c.awaitIdle(ctx, c.Grace) }()
	look := time.NewTicker(hangUpInterval)
	defer look.Stop()
	for {
		select {
		case err := <-idle:
			return err
		case <-look.C:
			if peer.IsHungUp() {
				c.clientLeft.Store(true)
				cancel()
				return <-idle
			}
		}
	}
}

// unansweredError returns the error about the requests without an answer after Grace, or nil if there is
// none.
func (c *serving) unansweredError() error {
	unwritten, running := c.session.unwritten.len(), c.session.Running.Len()
	switch n := c.session.Running.Wanted() + max(0, unwritten-running); n {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("a request was not answered within %v after the end of the input", c.Grace)
	default:
		return fmt.Errorf("%d requests were not answered within %v after the end of the input", n, c.Grace)
	}
}

// retryAfterShutdown is the time after which a request that was refused during a shutdown may
// be sent again, to the server that takes over.
const retryAfterShutdown = time.Second

// ShuttingDown returns the error for a request that is received during a shutdown and is not
// processed.
func ShuttingDown(method string) *mcp.Error {
	return mcp.PeerRetryLaterf(mcp.CodeOverloaded, retryAfterShutdown, "%s: the server is shutting down", method)
}

// drainWatch is the goroutine of watchDraining.
type drainWatch struct {
	cancel context.CancelFunc
	work   sync.WaitGroup
}

// watchDraining shuts the connection down when Draining is closed. It needs one stop.
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
			_ = c.awaitIdle(ctx, drainGrace)
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

// errCannotAnswer ends the requests to a client that sends nothing more. The client gets it as the error
// of its own request in which it was asked.
var errCannotAnswer = mcp.Errorf(mcp.CodeInvalidRequest, "the request waits for an answer of the client, which has closed its direction of the connection")

// serving is one connection being served.
type serving struct {
	ServeParams
	session  *Session
	handlers *workerPool
	replies  outbox
	// listening is the context of subscriptions. It ends when the client has closed its
	// direction, because a subscription would otherwise use up the whole grace.
	listening context.Context
	// ended says that this side has closed the connection; clientLeft, that the client had
	// disconnected before, which a failed write may show sooner than Read; expired, that
	// only replies may still be sent.
	ended, clientLeft, expired atomic.Bool
	draining                   atomic.Bool // new requests are refused
	// unwritable is the error of the first write that has failed, unless the client had left.
	unwritable atomic.Pointer[error]
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
			c.malformed(ctx, jsonrpc.Incomplete(frame.Reason, frame.Head, frame.Tail))
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
			c.malformed(ctx, asDecodeError(err))
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

// dispatch starts to process one message and does not wait for it. The exception is
// initialize: the messages after it need the session that it negotiates.
func (c *serving) dispatch(ctx context.Context, in *Inbound) {
	m := in.Message
	switch {
	case m.Kind == jsonrpc.Request && c.draining.Load():
		c.write(ctx, dialect.Refuse(m.ID, ShuttingDown(m.Method)).Body)
	case m.Kind == jsonrpc.Request && m.Method == mcp.MethodInitialize:
		c.write(ctx, reply(c.session.Begin(ctx, c.Core, in)))
	case m.Kind == jsonrpc.Request && m.Method == mcp.MethodListen:
		c.runRequest(m.ID, m.Method, c.session.Begin(c.listening, c.Core, in))
	case m.Kind == jsonrpc.Request:
		c.runRequest(m.ID, m.Method, c.session.Begin(ctx, c.Core, in))
	default:
		c.handleWithoutReply(ctx, in)
	}
}

// runRequest runs a request and writes its reply. It does not keep the message, which a
// long-lived request may have released.
func (c *serving) runRequest(id jsonrpc.ID, method string, run Run) {
	c.runConcurrently(func() []byte { return c.limited(id, method, reply(run)) })
}

// runConcurrently runs f in the worker pool and writes the reply that f returns.
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

// handleWithoutReply processes a response or a notification.
func (c *serving) handleWithoutReply(ctx context.Context, in *Inbound) {
	if in.Message.Kind == jsonrpc.Response {
		c.session.Resolve(in.Message)
		return
	}
	_ = c.Core.Notification(ctx, in) // an invalid notification has no reply either
}

// reply returns the reply to write, or nil if the client has cancelled the request.
func reply(run Run) []byte {
	r, wanted := run()
	if !wanted {
		return nil
	}
	return r.Body
}

func (c *serving) inbound(m jsonrpc.Message, from *mcp.Identity) *Inbound {
	return &Inbound{Message: m, Binding: c.Binding, Identity: from, Session: c.session, Agreed: c.session.Agreed(), HTTP: c.HTTP, BackChannel: back{c.Conn}, Draining: c.Draining}
}

// push sends a message that belongs to no request.
func (c *serving) push(ctx context.Context, msg []byte) error {
	if c.expired.Load() {
		return ErrExpired
	}
	return c.Conn.Write(ctx, msg)
}

// back is the BackChannel of every message of the connection: the connection itself.
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

// writeFailed ends the connection after a write has failed.
func (c *serving) writeFailed(err error) {
	if left := errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE); left && !c.ended.Load() {
		c.clientLeft.Store(true)
	} else {
		c.unwritable.CompareAndSwap(nil, &err)
	}
	c.end()
}

func (c *serving) end() {
	c.ended.Store(true)
	_ = c.Conn.Close()
}
