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
	// Call sends a request and returns its response. Every message that belongs to the
	// request and precedes the response is passed to out.Caller, in order and on the
	// caller's goroutine. When ctx ends, Call cancels the request as the binding defines
	// and returns the cause. A *NotSentError reports that the server has certainly not
	// received the request.
	Call(ctx context.Context, out Outbound) (jsonrpc.Message, error)
	// Notify sends a notification.
	Notify(ctx context.Context, out Outbound) error
	// End makes all running and later calls fail with the given reason. It does not wait.
	// The link still needs Close.
	End(why error)
	// Drain waits, after the link has ended, for the calls in flight that may still get
	// their response. It does not wait long, nor after ctx has ended.
	Drain(ctx context.Context)
	// Close ends the link and returns when its goroutines have ended.
	Close() error
	// Done is closed when the link has ended; Err then returns the reason.
	Done() <-chan struct{}
	Err() error
}

// Outbound is one message of a client.
type Outbound struct {
	// Message is encoded with the id that the link assigns; a notification has the zero id.
	Message *dialect.Request
	// Caller may be nil: then messages before the response are dropped and the request is
	// never cancelled.
	Caller Caller
	// Logs says that the server may send log messages for the request. Log messages do not
	// name their request: Receive gets those that arrive on the response stream of the
	// request, or that cannot belong to another request.
	Logs bool
	// Repeated says that the server has refused the request before as one of a session
	// that it does not know, and that it is sent again in a new session.
	Repeated bool
}

// Caller handles the messages of one Call. Its methods are called on the goroutine of Call.
type Caller interface {
	// Receive handles a message that belongs to the request and precedes its response.
	Receive(m jsonrpc.Message)
	// Cancel returns the notification that cancels the request with that id, or nil to
	// send none.
	Cancel(id jsonrpc.ID) []byte
}

// Inbox handles the messages of a server that belong to no call.
type Inbox interface {
	// Notification handles one notification. It must not block, because no more messages
	// are read meanwhile.
	Notification(m jsonrpc.Message)
	// Request processes one request of the server and returns the encoded response, or nil
	// if the revision does not have such requests.
	Request(ctx context.Context, m jsonrpc.Message) []byte
	// Malformed is told of a message that could not be decoded and that ended no call. It
	// returns the encoded response to a request, or nil for any other message and if the
	// revision does not have such requests.
	Malformed(bad *jsonrpc.DecodeError) []byte
	// LimitReached reports a limit that the server has reached.
	LimitReached(e mcp.LimitReached)
	// Limits bound what is decoded.
	Limits() jsonrpc.Limits
}

const (
	// maxAnswering bounds the requests of the server whose response is not written yet.
	maxAnswering = 64
	// cancelTimeout bounds how long Call may take to send a cancellation.
	cancelTimeout = time.Second
)

// ErrClosed is the error of calls on a closed link.
var ErrClosed = errors.New("the client is closed")

// ErrMaybeSent is wrapped by the error of a Conn's Write that its context interrupted when
// the server may already have read the message. A request is cancelled then.
var ErrMaybeSent = errors.New("the message may have been sent")

// NotSentError reports a request that the server has not begun to process, so that it may be
// sent again. Err is the reason.
type NotSentError struct {
	Err error
	// Alive says that the link is still usable, also to send the request again.
	Alive bool
}

func (e *NotSentError) Error() string { return e.Err.Error() }

// Unwrap gives access to the reason.
func (e *NotSentError) Unwrap() error { return e.Err }

// MessageError is the error of a Conn's Write that concerns the message alone: the connection is
// still usable. The server may have got the message.
type MessageError struct{ Err error }

func (e *MessageError) Error() string { return e.Err.Error() }

// Unwrap gives access to the reason.
func (e *MessageError) Unwrap() error { return e.Err }

// connLink is a Link over one ordered connection.
type connLink struct {
	conn         mcp.Conn
	inbox        Inbox
	pending      peer.Pending
	running      peer.Running
	answering    atomic.Int64 // requests of the server whose answer is not written yet
	unanswerable unanswerable

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
	sent := l.unanswerable.mark()
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
			l.unanswerable.passed(sent)
			return m, nil
		case out.Caller != nil:
			out.Caller.Receive(m)
		}
	}
}

// sendCancelled writes a cancellation within cancelTimeout, so that the caller does not wait
// for a server that does not read.
func (l *connLink) sendCancelled(msg []byte) {
	if msg == nil {
		return
	}
	ctx, stop := context.WithTimeout(l.ctx, cancelTimeout)
	defer stop()
	l.writeUnanswerable(ctx, msg)
}

// writeUnanswerable writes a notification or a response, and ignores errors.
func (l *connLink) writeUnanswerable(ctx context.Context, msg []byte) {
	l.unanswerable.begin()
	defer l.unanswerable.end()
	_ = l.conn.Write(ctx, msg)
}

func (l *connLink) Notify(ctx context.Context, out Outbound) error {
	if out.Message.Method == mcp.NotificationInitialized {
		// A slow server answers the probe that was given up before it answers initialize.
		l.pending.ForgetAbandoned()
	}
	l.unanswerable.begin()
	defer l.unanswerable.end()
	if err := l.conn.Write(ctx, out.Message.Encode(jsonrpc.ID{})); err != nil {
		return l.writeFailed(ctx, err)
	}
	return nil
}

// Drain implements Link. A connection that has ended brings no response.
func (l *connLink) Drain(context.Context) {}

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

// writeFailed returns the error of a call whose message could not be written. Unless the
// caller's context is the reason, it ends the link. The Conn says by a NotSentError that
// the server has not processed the message, and by a MessageError that the link need not end.
func (l *connLink) writeFailed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[*NotSentError](err); ok {
		if !e.Alive {
			l.End(e.Err)
		}
		return err
	}
	if _, ok := errors.AsType[*MessageError](err); ok {
		return err
	}
	l.End(fmt.Errorf("connection lost: %w", err))
	return l.Err()
}

// End implements Link. Only the first call has an effect.
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
		if frame, ok := errors.AsType[*mcp.FrameError](err); ok {
			l.inbox.LimitReached(mcp.LimitReached{Limit: mcp.LimitMessageBytes})
			l.malformed(oversized(frame))
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

// decode dispatches the messages of a frame.
func (l *connLink) decode(data []byte) {
	if jsonrpc.IsBatch(data) {
		l.decodeBatch(data)
		return
	}
	m, err := jsonrpc.Decode(data, l.inbox.Limits())
	if err != nil {
		l.malformed(asDecodeError(err))
		return
	}
	l.dispatch(m)
}

func (l *connLink) decodeBatch(data []byte) {
	items, err := jsonrpc.DecodeBatch(data, l.inbox.Limits())
	if err != nil {
		l.malformed(asDecodeError(err))
	}
	for _, item := range items {
		if item.Err != nil {
			l.malformed(item.Err)
			continue
		}
		l.dispatch(item.Message)
	}
}

// DecodeAll returns the messages of a frame: all messages of a batch, or the only one.
func DecodeAll(data []byte, limits jsonrpc.Limits) ([]jsonrpc.Item, *jsonrpc.DecodeError) {
	if jsonrpc.IsBatch(data) {
		items, err := jsonrpc.DecodeBatch(data, limits)
		return items, asDecodeError(err)
	}
	m, err := jsonrpc.Decode(data, limits)
	if err != nil {
		return nil, asDecodeError(err)
	}
	return []jsonrpc.Item{{Message: m}}, nil
}

func (l *connLink) dispatch(m jsonrpc.Message) {
	switch m.Kind {
	case jsonrpc.Response:
		if m.ID.IsZero() {
			l.errorWithoutID(m)
			return
		}
		l.pending.Resolve(m)
	case jsonrpc.Request:
		l.answerRequest(m)
	case jsonrpc.Notification:
		if id, cause, ok := dialect.Cancelled(m); ok {
			l.handleCancelled(id, cause, m)
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

// handleCancelled cancels the processing of a request of the server. If there is none with
// that id, it delivers the cancellation to our own request: a server of the stateless era
// sends it to end one of our subscriptions.
//
// Spec: 2026-07-28 basic/utilities/cancellation
func (l *connLink) handleCancelled(id jsonrpc.ID, cause *mcp.CancelledError, m jsonrpc.Message) {
	if !l.running.Cancel(id, cause) {
		l.pending.Deliver(id, m)
	}
}

// TooManyQuestions returns the error response to a request of the server that exceeds max.
func TooManyQuestions(id jsonrpc.ID, max int) dialect.Reply {
	return dialect.Refuse(id, mcp.PeerRetryLaterf(mcp.CodeRateLimited, time.Second, "more than %d requests at once", max))
}

// answerRequest processes one request of the server on its own goroutine. It writes a refusal
// before the next message is read.
func (l *connLink) answerRequest(m jsonrpc.Message) {
	if l.answering.Load() >= maxAnswering {
		l.inbox.LimitReached(mcp.LimitReached{Limit: mcp.LimitQuestions, Method: m.Method})
		l.writeUnanswerable(l.ctx, TooManyQuestions(m.ID, maxAnswering).Body)
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
			l.writeAnswer(reply)
		}
	})
}

const (
	// answerTimeout bounds how long an answer is written again after failures of which the
	// connection does not end.
	answerTimeout = 30 * time.Second
	// minAnswerPause is the time before an answer is written again. It doubles each time.
	minAnswerPause = 250 * time.Millisecond
	maxAnswerPause = 2 * time.Second
)

// writeAnswer writes a response, and again after a failure that concerns the message alone: a
// server ignores a response that it has got already.
func (l *connLink) writeAnswer(reply []byte) {
	l.unanswerable.begin()
	defer l.unanswerable.end()
	ctx, stop := context.WithTimeout(l.ctx, answerTimeout)
	defer stop()
	for pause := minAnswerPause; ; pause = min(2*pause, maxAnswerPause) {
		err := l.conn.Write(l.ctx, reply)
		unsent, _ := errors.AsType[*NotSentError](err)
		_, unsure := errors.AsType[*MessageError](err)
		if !unsure && (unsent == nil || !unsent.Alive) {
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// answerMalformed writes the response to a request that could not be decoded, unless too many
// responses wait for the server to read them. It does not wait: the server may not read, and
// its responses to calls may follow. Nil is no response.
func (l *connLink) answerMalformed(reply []byte) {
	if reply == nil || l.answering.Load() >= maxAnswering {
		return
	}
	l.answering.Add(1)
	l.work.Go(func() {
		defer l.answering.Add(-1)
		l.writeUnanswerable(l.ctx, reply)
	})
}
