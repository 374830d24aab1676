package exchange

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/internal/peer"
)

// Core is a server as the pipes see it.
type Core interface {
	// Dialect opens and seals the server's messages.
	Dialect() *dialect.Server
	// Limits bound what is decoded.
	Limits() jsonrpc.Limits
	// Request does one request and returns its sealed reply. It never panics.
	Request(ctx context.Context, in *Inbound) dialect.Reply
	// Notification takes one notification. It performs a cancellation at once and
	// gives what a handler of the author has to do to Session.QueueNotification, so that it
	// does not wait for the handler. Only a notification without a session is
	// handled before Notification returns. ctx is that of the session or, without
	// one, that of the message. The error is an *mcp.Error about a notification
	// that is not valid; what fails in a handler is logged instead.
	Notification(ctx context.Context, in *Inbound) error
	// LimitReached is told of each limit that was reached.
	LimitReached(e mcp.LimitReached)
	// Opened is told of each session or connection before its first message,
	// and refuses it with an error while the server shuts down; Closed is told
	// of its end.
	Opened(s *Session) error
	Closed(s *Session)
}

// BackChannel is the way back to the sender of one message, for what belongs to it.
type BackChannel interface {
	// Send sends a message that precedes the reply. It is safe for concurrent
	// use. The message may be kept, so it is not to be changed afterwards.
	Send(ctx context.Context, msg []byte) error
}

// StreamCloser is a Back whose connection can be closed before the reply.
type StreamCloser interface {
	// CloseStream closes the connection behind what was sent and asks the client to
	// come back for the rest after the given time. It reports false, and does
	// nothing, for a client that would not.
	CloseStream(retry time.Duration) bool
}

// Inbound is one message that came in, with the way back.
type Inbound struct {
	Message jsonrpc.Message
	Binding dialect.Binding
	Headers *dialect.Headers
	// Identity is who sent the message, or nil when nobody has found that out.
	Identity *mcp.Identity
	// Session is the connection or HTTP session that the message came over, or
	// nil where there is none (Streamable HTTP of the stateless era).
	Session *Session
	// StatelessOwner is for whom the message counts where there is no session. See Owner.
	StatelessOwner *limit.Owner
	// BackChannel is nil where nothing can precede the reply.
	BackChannel BackChannel
	// HTTP describes the HTTP request that carried the message, or over HTTP+SSE the
	// one that opened the connection.
	HTTP HTTPRequest
	// InParts tells that the reply may be in parts.
	InParts bool
	// Draining is closed when the way by which the message came is to end in an
	// orderly way, and a subscription with it. Nil never is.
	Draining <-chan struct{}
}

// TransportInfo returns what the dialect must know about how the message arrived.
func (in *Inbound) TransportInfo() dialect.TransportInfo {
	info := dialect.TransportInfo{Binding: in.Binding, Headers: in.Headers, InParts: in.InParts}
	if in.Session != nil {
		info.Session = in.Session.Agreed()
	}
	return info
}

// Principal returns on whose behalf the message was sent.
func (in *Inbound) Principal() mcp.Principal { return PrincipalOf(in.Identity) }

// PrincipalOf returns the principal of a sender, who is anonymous when nil.
func PrincipalOf(i *mcp.Identity) mcp.Principal {
	if i == nil {
		return mcp.PrincipalAnonymous
	}
	return i.Principal
}

// ErrNoBackChannel reports that nothing can be asked of the caller on this way.
var ErrNoBackChannel = errors.New("the caller takes no requests here")

// SendRequest sends a request to the sender of the message, on the message's own way
// back, and returns the response. When ctx ends first the slot is freed and the
// peer is told by the cancellation that encodeCancel makes.
func (in *Inbound) SendRequest(ctx context.Context, encode, encodeCancel func(jsonrpc.ID) []byte) (jsonrpc.Message, error) {
	if in.Session == nil || in.BackChannel == nil {
		return jsonrpc.Message{}, ErrNoBackChannel
	}
	return in.Session.sendRequest(ctx, in.BackChannel.Send, encode, encodeCancel)
}

// Session is what outlives a message on the server's side: a connection, or a
// session of Streamable HTTP. Every field is set before the first message, Share by
// Core.Opened, but for CoreValue.
//
// A session has three orders. Requests run beside each other. Responses and
// cancellations take effect before anything more is read. All other notifications
// are handled one after the other, in the order in which they came, and nothing but
// the notifications behind it waits for a handler.
type Session struct {
	Principal mcp.Principal
	// Owner is for whom all that is held in the session counts.
	Owner limit.Owner
	// Push sends a message that belongs to no call. It does not wait for a slow
	// client longer than the pipe's write timeout. The message may be kept.
	Push func(ctx context.Context, msg []byte) error
	// Queues tells that Push does not wait for the client at all.
	Queues bool
	// End closes the connection or session. It may be called more than once.
	End func()
	// Spawn starts the goroutine that handles notifications, for whoever made the
	// session to wait for. Nil: ServeConn waits for it.
	Spawn func(run func())

	// Share is what the session may have running. Nil has no bounds.
	Share *limit.Share

	// CoreValue is what the Core keeps for the session.
	CoreValue atomic.Value

	// Presence tells whether the client is there.
	Presence Presence

	Running peer.Running
	Pending peer.Pending

	notifications atomic.Pointer[Dispatcher[func()]] // made when the first notification comes; most sessions have none
	unwritten     unwritten
	agreed        atomic.Pointer[dialect.Session]
	identity      atomic.Pointer[mcp.Identity]
}

// Identify notes the credentials that the session's principal has shown last.
func (s *Session) Identify(i *mcp.Identity) { s.identity.Store(i) }

// Identity returns the credentials that the session's principal has shown last, or
// nil when it has shown none.
func (s *Session) Identity() *mcp.Identity { return s.identity.Load() }

// WaitIdle returns nil once every request that came over the connection has its
// reply written and every notification that came before the call is handled, or the
// cause of ctx. In sessions of Streamable HTTP, which outlive their connections, it
// waits for the notifications alone.
func (s *Session) WaitIdle(ctx context.Context) error {
	return cmp.Or(s.unwritten.awaitNone(ctx), s.flushNotifications(ctx))
}

// Agreed returns what initialize settled, or nil before it.
func (s *Session) Agreed() *dialect.Session { return s.agreed.Load() }

// Agree sets what initialize settled. It reports false when the session had
// been initialized before.
func (s *Session) Agree(d *dialect.Session) bool { return s.agreed.CompareAndSwap(nil, d) }

// SendRequest sends a request that belongs to no call, and returns the response.
func (s *Session) SendRequest(ctx context.Context, encode, encodeCancel func(jsonrpc.ID) []byte) (jsonrpc.Message, error) {
	return s.sendRequest(ctx, s.Push, encode, encodeCancel)
}

func (s *Session) sendRequest(ctx context.Context, send func(context.Context, []byte) error, encode, encodeCancel func(jsonrpc.ID) []byte) (jsonrpc.Message, error) {
	w, err := s.Pending.Open()
	if err != nil {
		return jsonrpc.Message{}, err
	}
	defer w.Close()
	if err := send(ctx, encode(w.ID)); err != nil {
		return jsonrpc.Message{}, err
	}
	for {
		m, err := w.Next(ctx)
		if err != nil {
			_ = send(context.WithoutCancel(ctx), encodeCancel(w.ID))
			return m, err
		}
		if m.Kind == jsonrpc.Response {
			return m, nil
		}
	}
}
