package exchange

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/peer"
)

// Link carries a client's messages to one server. It is safe for concurrent use.
type Link interface {
	// Call sends a request and returns its response. Every message that belongs
	// to the request and comes before the response is handed to out.Caller, in
	// order and on the caller's goroutine. When ctx ends the server is told in the way
	// of the binding, the slot is freed, and Call returns the cause. A request
	// that the server has certainly not seen fails with a *NotSentError.
	Call(ctx context.Context, out Outbound) (jsonrpc.Message, error)
	// Notify sends a notification.
	Notify(ctx context.Context, out Outbound) error
	// End makes the link of no more use, for the given reason. It waits for
	// nothing; a Close has to follow.
	End(why error)
	// Close ends the link and returns when nothing of it runs any more.
	Close() error
	// Done is closed when the link is of no more use; Err then says why.
	Done() <-chan struct{}
	Err() error
}

// Outbound is one message of a client.
type Outbound struct {
	// Message is encoded under the id that the link gives it; a notification has
	// the zero id.
	Message *dialect.Request
	// Caller is nil when nobody listens and the request may not be cancelled.
	Caller Caller
	// Logs tells that the server may log on behalf of the request. Log messages do
	// not say to which request they belong: they come to Hear when they came on the
	// response stream of the request, or can be those of no other.
	Logs bool
}

// Caller is who waits for the answer to a request. Its methods are called on the
// caller's own goroutine, while it waits.
type Caller interface {
	// Receive takes what belongs to the request and comes before its response.
	Receive(m jsonrpc.Message)
	// Cancel returns the notification that cancels the request of that id, or nil
	// when there is nothing to say.
	Cancel(id jsonrpc.ID) []byte
}

// Inbox takes what a server sends that belongs to no call of ours.
type Inbox interface {
	// Notification takes one notification. It returns at once: the reader of the
	// connection waits for it.
	Notification(m jsonrpc.Message)
	// Request answers one request of the server with a whole response, or with
	// nil when the revision has no such thing as an answer.
	Request(ctx context.Context, m jsonrpc.Message) []byte
	// LimitReached is told of each limit that the server has reached.
	LimitReached(e mcp.LimitReached)
	// Limits bound what is decoded.
	Limits() jsonrpc.Limits
}

const (
	// maxAnswering bounds the server's requests that are answered at once, up to
	// when the answers are written.
	maxAnswering = 64
	// cancelTimeout is how long a call that was given up may take to say so.
	cancelTimeout = time.Second
)

// ErrClosed is the cause of everything that a closed link refuses.
var ErrClosed = errors.New("the client is closed")

// ErrMaybeSent is in the error of a Conn whose Write was interrupted by its context
// when the server may have read the message already. A request is cancelled then.
var ErrMaybeSent = errors.New("the message may have been sent")

// NotSentError reports a request that the server has not begun to work on, so
// that it may be sent again by other means. Err says why.
type NotSentError struct {
	Err error
	// Alive tells that the link is still of use, also for sending it again.
	Alive bool
}

func (e *NotSentError) Error() string { return e.Err.Error() }

// Unwrap gives access to the reason.
func (e *NotSentError) Unwrap() error { return e.Err }

// connLink is a Link over one ordered connection.
type connLink struct {
	conn      mcp.Conn
	inbox     Inbox
	pending   peer.Pending
	running   peer.Running
	answering atomic.Int64 // requests of the server whose answer is not written yet

	ctx    context.Context // of the requests being answered
	cancel context.CancelCauseFunc
	work   sync.WaitGroup
	done   chan struct{}
	err    error // set before done is closed
	once   sync.Once
}

// Dial starts a client's side of one connection. The link owns conn.
func Dial(conn mcp.Conn, inbox Inbox) Link {
	l := &connLink{conn: conn, inbox: inbox, done: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	l.work.Go(l.read)
	return l
}

func (l *connLink) Call(ctx context.Context, out Outbound) (jsonrpc.Message, error) {
	w, err := l.pending.Open()
	if err != nil {
		return jsonrpc.Message{}, &NotSentError{Err: err}
	}
	defer w.Close()
	if out.Logs {
		w.TakeLogs()
	}
	if err := l.conn.Write(ctx, out.Message.Encode(w.ID)); err != nil {
		if errors.Is(err, ErrMaybeSent) && out.Caller != nil {
			l.sendCancelled(out.Caller.Cancel(w.ID))
		}
		return jsonrpc.Message{}, l.writeFailed(ctx, err)
	}
	for {
		m, err := w.Next(ctx)
		switch {
		case err != nil:
			if ctx.Err() != nil && out.Caller != nil {
				l.sendCancelled(out.Caller.Cancel(w.ID))
			}
			return m, err
		case m.Kind == jsonrpc.Response:
			return m, nil
		case out.Caller != nil:
			out.Caller.Receive(m)
		}
	}
}

// sendCancelled writes a cancellation, unless the server does not even read: the
// caller has given up and is not to wait for it.
func (l *connLink) sendCancelled(msg []byte) {
	if msg == nil {
		return
	}
	ctx, stop := context.WithTimeout(l.ctx, cancelTimeout)
	defer stop()
	_ = l.conn.Write(ctx, msg)
}

func (l *connLink) Notify(ctx context.Context, out Outbound) error {
	if err := l.conn.Write(ctx, out.Message.Encode(jsonrpc.ID{})); err != nil {
		return l.writeFailed(ctx, err)
	}
	return nil
}

func (l *connLink) Close() error {
	l.End(ErrClosed)
	err := l.conn.Close()
	l.work.Wait()
	return err
}

func (l *connLink) Done() <-chan struct{} { return l.done }

func (l *connLink) Err() error {
	select {
	case <-l.done:
		return l.err
	default:
		return nil
	}
}

// writeFailed returns the error of a call whose message could not be written. When the
// reason is not the caller's context, the connection is of no more use.
func (l *connLink) writeFailed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l.End(fmt.Errorf("connection lost: %w", err))
	return l.Err()
}

// End implements Link. The first reason counts.
func (l *connLink) End(why error) {
	l.once.Do(func() {
		l.err = why
		close(l.done)
		l.pending.Fail(why)
		l.cancel(why)
	})
}

func (l *connLink) read() {
	for {
		data, err := l.conn.Read(l.ctx)
		if _, ok := errors.AsType[*mcp.FrameError](err); ok {
			continue
		}
		if err != nil {
			l.End(fmt.Errorf("connection lost: %w", err))
			_ = l.conn.Close()
			return
		}
		l.decode(data)
	}
}

// decode takes the messages of a frame. A malformed answer fails the call that
// it is for; what else cannot be decoded is dropped, for a client has nobody to
// complain to.
func (l *connLink) decode(data []byte) {
	if jsonrpc.IsBatch(data) {
		l.decodeBatch(data)
		return
	}
	m, err := jsonrpc.Decode(data, l.inbox.Limits())
	if err != nil {
		l.failCall(err)
		return
	}
	l.dispatch(m)
}

func (l *connLink) decodeBatch(data []byte) {
	items, err := jsonrpc.DecodeBatch(data, l.inbox.Limits())
	if err != nil {
		l.failCall(err)
	}
	for _, item := range items {
		if item.Err != nil {
			l.failCall(item.Err)
			continue
		}
		l.dispatch(item.Message)
	}
}

func (l *connLink) failCall(err error) {
	if bad, ok := errors.AsType[*jsonrpc.DecodeError](err); ok && bad.Kind == jsonrpc.Response {
		l.pending.Refuse(bad.ID, dialect.Invalid("%w", bad))
	}
}

// DecodeAll returns the messages of a frame: of a batch all, otherwise one.
func DecodeAll(data []byte, limits jsonrpc.Limits) ([]jsonrpc.Item, error) {
	if jsonrpc.IsBatch(data) {
		return jsonrpc.DecodeBatch(data, limits)
	}
	m, err := jsonrpc.Decode(data, limits)
	if err != nil {
		return nil, err
	}
	return []jsonrpc.Item{{Message: m}}, nil
}

func (l *connLink) dispatch(m jsonrpc.Message) {
	switch m.Kind {
	case jsonrpc.Response:
		l.pending.Resolve(m)
	case jsonrpc.Request:
		l.answerRequest(m)
	case jsonrpc.Notification:
		if id, ok := dialect.CancelledID(m); ok {
			l.handleCancelled(id, m)
			return
		}
		if id, ok := dialect.BelongsTo(m); ok && l.pending.Deliver(id, m) {
			return
		}
		if m.Method == mcp.NotificationMessage && l.pending.DeliverLog(jsonrpc.ID{}, m) {
			return
		}
		l.inbox.Notification(m)
	}
}

// handleCancelled ends the answering of a request of the server's, or else lets our
// own request of that id know: a server of the stateless era cancels nothing
// but our subscriptions, which it is tearing down.
//
// Spec: 2026-07-28 basic/utilities/cancellation
func (l *connLink) handleCancelled(id jsonrpc.ID, m jsonrpc.Message) {
	if !l.running.Cancel(id, context.Canceled) {
		l.pending.Deliver(id, m)
	}
}

// TooManyQuestions seals the refusal of a request of the server's that is one too many.
func TooManyQuestions(id jsonrpc.ID, max int) dialect.Reply {
	return dialect.Refuse(id, mcp.RetryLaterf(mcp.CodeRateLimited, time.Second, "more than %d requests at once", max))
}

// answerRequest lets the inbox answerRequest one request of the server on its own goroutine. A
// refusal is written before anything more is read.
func (l *connLink) answerRequest(m jsonrpc.Message) {
	if l.answering.Load() >= maxAnswering {
		l.inbox.LimitReached(mcp.LimitReached{Limit: mcp.LimitQuestions, Method: m.Method})
		_ = l.conn.Write(l.ctx, TooManyQuestions(m.ID, maxAnswering).Body)
		return
	}
	ctx, work := l.running.Begin(l.ctx, m.ID)
	if work == nil {
		return
	}
	l.answering.Add(1)
	l.work.Go(func() {
		defer l.answering.Add(-1)
		reply := l.inbox.Request(ctx, m)
		if work.End() && reply != nil {
			_ = l.conn.Write(l.ctx, reply)
		}
	})
}
