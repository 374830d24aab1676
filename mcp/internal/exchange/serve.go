package exchange

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// ServeParams describe one connection to serve.
type ServeParams struct {
	Conn      mcp.Conn
	Core      Core
	Binding   dialect.Binding
	Principal mcp.Principal
	// Request opened the connection, where it is HTTP; otherwise nil.
	Request *http.Request
	// Grace is how long requests that run when the client has said its last word
	// may still be answered, where the other direction lives on.
	Grace time.Duration
}

// ServeConn serves one connection until it ends or ctx does. The life of a
// message on it:
//
//	Read          a whole message, bounded by the pipe
//	 └─ Decode    request, notification, response, or a 2025-03-26 batch of them
//	     ├─ request       on its own goroutine: Core.Request, then one Write
//	     ├─ notification  in the order of arrival: Core.Notification
//	     └─ response      to the Ask that waits for it
//
// A malformed frame is answered and the connection goes on. When the connection
// ends every running request is cancelled, and ServeConn returns after the last
// of them has.
func ServeConn(ctx context.Context, p ServeParams) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &serving{ServeParams: p}
	listening, deaf := context.WithCancelCause(ctx)
	defer deaf(nil)
	c.listening = listening
	c.session = &Session{
		Principal: p.Principal,
		Push:      p.Conn.Write,
		End:       c.end,
	}
	defer context.AfterFunc(ctx, c.session.End)()
	if err := p.Core.Opened(c.session); err != nil {
		c.session.End()
		return err
	}
	err := c.read(ctx)
	if errors.Is(err, io.EOF) && p.Grace > 0 {
		deaf(errDisconnected)
		c.settle(ctx)
	}
	cancel(errDisconnected)
	c.session.Pending.Fail(errDisconnected)
	c.session.Running.CancelAll(errDisconnected)
	c.session.End()
	c.handlers.Wait()
	p.Core.Closed(c.session)
	if errors.Is(err, io.EOF) || c.gone.Load() {
		return nil
	}
	return err
}

// settle lets the running requests be answered, within the grace.
func (c *serving) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, c.Grace)
	defer cancel()
	_ = c.session.Written(ctx)
}

var errDisconnected = errors.New("the client has disconnected")

// serving is one connection being served.
type serving struct {
	ServeParams
	session  *Session
	handlers sync.WaitGroup
	// listening ends before the rest does: a subscription is not worth waiting for
	// once the client has said its last word.
	listening context.Context
	// ended says that this side has closed the connection; gone, that the client had
	// left before, which a reply that cannot be written may tell sooner than Read.
	ended, gone atomic.Bool
}

func (c *serving) read(ctx context.Context) error {
	for {
		if err := c.session.unwritten.room(ctx); err != nil {
			return err
		}
		data, err := c.Conn.Read(ctx)
		if frame, ok := errors.AsType[*mcp.FrameError](err); ok {
			c.refuse(ctx, mcp.Errorf(mcp.CodeInvalidRequest, "%s", frame.Reason))
			continue
		}
		if err != nil {
			return err
		}
		if jsonrpc.IsBatch(data) {
			c.batch(ctx, data)
			continue
		}
		m, err := jsonrpc.Decode(data, c.Core.Limits())
		if err != nil {
			c.malformed(ctx, err)
			continue
		}
		c.take(ctx, m)
	}
}

// take starts on one message and does not wait for it, but for initialize:
// what follows it needs the session that it makes.
func (c *serving) take(ctx context.Context, m jsonrpc.Message) {
	switch {
	case m.Kind == jsonrpc.Request && m.Method == mcp.MethodInitialize:
		c.write(ctx, reply(c.session.Begin(ctx, c.Core, c.inbound(m))))
	case m.Kind == jsonrpc.Request && m.Method == mcp.MethodListen:
		run := c.session.Begin(c.listening, c.Core, c.inbound(m))
		c.spawn(ctx, func() []byte { return reply(run) })
	case m.Kind == jsonrpc.Request:
		run := c.session.Begin(ctx, c.Core, c.inbound(m))
		c.spawn(ctx, func() []byte { return reply(run) })
	default:
		c.other(ctx, m)
	}
}

// spawn runs f on a goroutine of the connection and writes the reply that it
// returns.
func (c *serving) spawn(ctx context.Context, f func() []byte) {
	c.session.unwritten.add()
	c.handlers.Go(func() {
		reply := f()
		c.session.unwritten.reply(len(reply))
		defer c.session.unwritten.done(len(reply))
		c.write(ctx, reply)
	})
}

// other takes a message that has no reply.
func (c *serving) other(ctx context.Context, m jsonrpc.Message) {
	if m.Kind == jsonrpc.Response {
		c.session.Pending.Resolve(m)
		return
	}
	_ = c.Core.Notification(ctx, c.inbound(m))
}

// reply returns the reply to write, or nil when the caller cancelled the request.
func reply(run Run) []byte {
	r, wanted := run()
	if !wanted {
		return nil
	}
	return r.Body
}

func (c *serving) inbound(m jsonrpc.Message) *Inbound {
	return &Inbound{Message: m, Binding: c.Binding, Principal: c.Principal, Session: c.session, Request: c.Request, Back: back{c.Conn}}
}

// back sends on the connection itself: all its messages share one way.
type back struct{ conn mcp.Conn }

func (b back) Send(ctx context.Context, msg []byte) error { return b.conn.Write(ctx, msg) }

func (c *serving) write(ctx context.Context, msg []byte) {
	if msg == nil {
		return
	}
	if err := c.Conn.Write(ctx, msg); err != nil {
		if left := errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE); left && !c.ended.Load() {
			c.gone.Store(true)
		}
		c.end()
	}
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
