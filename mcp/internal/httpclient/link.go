package httpclient

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/peer"
)

// ClientParams describe a client's side of Streamable HTTP.
type ClientParams struct {
	URL *url.URL
	// HTTP sends the requests. It follows redirects within the origin only.
	HTTP *http.Client
	// Header is sent with every request. The protocol's own headers override it.
	Header http.Header
	// Auth gives every request its credentials. May be nil.
	Auth  Authorizer
	Inbox exchange.Inbox
	// MaxMessage bounds one message of the server, in bytes.
	MaxMessage int
	// MaxMessageSetting names the option that sets MaxMessage, for errors.
	MaxMessageSetting string
	// CloseTimeout bounds the DELETE of the session and notifications/cancelled.
	CloseTimeout time.Duration
	// Gap is called when notifications may have been missed. May be nil.
	Gap func()
	// Losses are those of all sessions of the client. Nil means that there is only this one.
	Losses *SessionLosses
	// CheckSession is called when a message without a response was refused in a way that
	// may mean that the session is lost. It sends a request, in the background. May be
	// nil.
	CheckSession func()
	// OnMessage is called for each message and response; Logger logs its panics. May be nil.
	OnMessage func(mcp.WireMessage)
	Logger    *slog.Logger
}

// Link is an exchange.Link over Streamable HTTP. Each message is a POST of its
// own; the answer is JSON, or an event stream that ends with it:
//
//	Call                      on the caller's goroutine: waits, runs the caller's handlers
//	 └─ roundTrip             on the call's goroutine: POST
//	     ├─ readAnswer        JSON
//	     └─ followAnswer      event stream, resumed if the revision has resumption
//
// In the session era a standalone stream carries the messages that belong to no call.
type Link struct {
	ClientParams

	pending peer.Pending
	running peer.Running
	answers atomic.Int64 // requests of the server up to the end of the POST of the answer

	ctx         context.Context // of the work that outlives a call; ends with the link
	cancel      context.CancelFunc
	calls       context.Context // of the calls in flight
	cancelCalls context.CancelFunc
	done        chan struct{}
	err         error           // set before done is closed
	idle        <-chan struct{} // closed when no call is in flight; set before done is closed
	once        sync.Once

	mu      sync.Mutex
	closing bool           // guarded by mu: no more work may begin
	session string         // guarded by mu
	facts   *dialect.Facts // guarded by mu; nil before the revision is negotiated
	work    sync.WaitGroup
}

var _ exchange.Link = (*Link)(nil)

// NewLink returns a link to the server at p.URL. Nothing is sent before the
// first call.
func NewLink(p ClientParams) *Link {
	l := &Link{ClientParams: p, done: make(chan struct{})}
	if l.Losses == nil {
		l.Losses = new(SessionLosses)
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.calls, l.cancelCalls = context.WithCancel(context.Background())
	return l
}

// standaloneGrace is how long the client waits for the server to open the standalone stream.
const standaloneGrace = 500 * time.Millisecond

// Agree sets the negotiated revision. Call it after notifications/initialized was sent.
// In the session era it opens the standalone stream and waits for it, up to
// standaloneGrace, so that no message of the server is missed from then on.
func (l *Link) Agree(ctx context.Context, f *dialect.Facts) {
	l.mu.Lock()
	l.facts = f
	l.mu.Unlock()
	if f.Era != dialect.SessionEra {
		return
	}
	opened := make(chan struct{})
	l.goTracked(func() { l.standalone(sync.OnceFunc(func() { close(opened) })) })
	grace := time.NewTimer(standaloneGrace)
	defer grace.Stop()
	select {
	case <-opened:
	case <-grace.C:
	case <-ctx.Done():
	case <-l.done:
	}
}

// Call implements exchange.Link.
func (l *Link) Call(ctx context.Context, out exchange.Outbound) (jsonrpc.Message, error) {
	w, err := l.pending.Open()
	if err != nil {
		return jsonrpc.Message{}, &exchange.NotSentError{Err: err}
	}
	defer w.Close()
	if out.Logs {
		w.TakeLogs()
	}
	carrying, stop := context.WithCancel(context.WithoutCancel(ctx))
	// After the answer the stream is still read to its end for up to drainTime, so that
	// the connection can be reused.
	defer context.AfterFunc(ctx, stop)()
	id := w.ID // the answer may still be read when w is closed
	l.goTracked(func() {
		defer stop()
		defer context.AfterFunc(l.calls, stop)()
		l.roundTrip(carrying, id, out)
	})
	for {
		m, err := w.Next(ctx)
		switch {
		case err != nil:
			stop()
			if ctx.Err() != nil { // ctx may have ended the stream first
				l.sendCancelled(w.ID, out)
				return m, context.Cause(ctx)
			}
			return m, err
		case m.Kind == jsonrpc.Response:
			if carrying.Err() == nil { // otherwise the timer would only keep the call in memory
				time.AfterFunc(drainTime, stop)
			}
			return m, nil
		case out.Caller != nil:
			out.Caller.Receive(m)
		}
	}
}

// Notify implements exchange.Link.
func (l *Link) Notify(ctx context.Context, out exchange.Outbound) error {
	err := l.postWithoutAnswer(ctx, out.Message.Encode(jsonrpc.ID{}), &out.Message.Headers)
	l.endIfLost(err)
	l.checkAfter(err)
	return err
}

// sendCancelled sends notifications/cancelled. In the stateless era the closed stream
// has cancelled the request already.
//
// Spec: 2025-11-25 basic/transports#sending-messages-to-the-server; 2026-07-28 basic/utilities/cancellation
func (l *Link) sendCancelled(id jsonrpc.ID, out exchange.Outbound) {
	if f := l.negotiated(); f == nil || f.DisconnectCancels || out.Caller == nil {
		return
	}
	msg := out.Caller.Cancel(id)
	if msg == nil {
		return
	}
	l.goTracked(func() {
		ctx, stop := context.WithTimeout(l.ctx, l.CloseTimeout)
		defer stop()
		l.sendAndForget(ctx, l.newPost(msg, nil))
	})
}

// sendAndForget sends a request once, without a sign-in, and ignores the response.
func (l *Link) sendAndForget(ctx context.Context, o *outgoing) {
	_, resp, err := l.sendOnce(ctx, o)
	if err == nil {
		drainBody(resp.Body)
		resp.Body.Close()
	}
}

// Close implements exchange.Link. It ends the session on the server, too, even if that
// has refused it: another replica may know it, or a 400 had another reason.
func (l *Link) Close() error {
	l.End(exchange.ErrClosed)
	l.pending.Fail(l.err)
	l.cancelCalls()
	l.mu.Lock()
	session := l.session
	l.session, l.closing = "", true
	l.mu.Unlock()
	switch {
	case session == "":
	case errors.Is(l.err, exchange.ErrClosed):
		l.delete(session, l.CloseTimeout)
	case errors.Is(l.err, ErrSessionLost):
		l.delete(session, min(l.CloseTimeout, lostDeleteTimeout))
	}
	l.work.Wait()
	l.HTTP.CloseIdleConnections()
	return nil
}

// Done implements exchange.Link.
func (l *Link) Done() <-chan struct{} { return l.done }

// Err implements exchange.Link.
func (l *Link) Err() error {
	select {
	case <-l.done:
		return l.err
	default:
		return nil
	}
}

// End implements exchange.Link. Only the first call has an effect. Calls in flight in a
// session that is lost may still get a response, see Drain.
func (l *Link) End(why error) {
	l.once.Do(func() {
		l.err = why
		l.idle = l.pending.Close(why)
		close(l.done)
		if !errors.Is(why, ErrSessionLost) {
			l.pending.Fail(why)
			l.cancelCalls()
		}
		l.cancel()
	})
}

// goTracked runs f on a goroutine that Close waits for, unless the link is closed.
func (l *Link) goTracked(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closing {
		l.work.Go(f)
	}
}

func (l *Link) negotiated() *dialect.Facts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.facts
}
