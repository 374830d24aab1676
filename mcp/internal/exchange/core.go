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

// Core is the interface of a server to the pipes.
type Core interface {
	// Dialect decodes requests and encodes replies for their revisions.
	Dialect() *dialect.Server
	// Limits bound what is decoded.
	Limits() jsonrpc.Limits
	// Request processes one request and returns its encoded reply. It never panics.
	Request(ctx context.Context, in *Inbound) dialect.Reply
	// Notification processes one notification. It performs a cancellation at once, and
	// passes the call of a handler to Session.QueueNotification, so that it does not wait
	// for the handler. Without a session, the handler runs before Notification returns.
	// ctx is the context of the session or, without one, of the message. The error is an
	// *mcp.Error for an invalid notification; errors of handlers are logged instead.
	Notification(ctx context.Context, in *Inbound) error
	// LimitReached reports a limit that was reached.
	LimitReached(e mcp.LimitReached)
	// Opened is called for each session or connection before its first message. It returns
	// an error, and so refuses the session, while the server shuts down. Closed is called
	// when a session that was not refused has ended.
	Opened(s *Session) error
	Closed(s *Session)
}

// BackChannel sends messages that belong to one inbound message to its sender.
type BackChannel interface {
	// Send sends a message that precedes the reply. It is safe for concurrent use. It may
	// keep msg, so the caller must not modify msg afterwards.
	Send(ctx context.Context, msg []byte) error
}

// StreamCloser is a BackChannel whose connection can be closed before the reply.
type StreamCloser interface {
	// CloseStream closes the connection after the messages sent so far, and asks the client
	// to reconnect for the rest after the retry time. For a client that would not reconnect
	// it does nothing and returns false.
	CloseStream(retry time.Duration) bool
}

// Inbound is one received message, with its origin and its back channel.
type Inbound struct {
	Message jsonrpc.Message
	Binding dialect.Binding
	// InParts allows a reply in parts (dialect.Reply.Parts).
	InParts bool
	Headers *dialect.Headers
	// Identity is the authenticated sender of the message, or nil.
	Identity *mcp.Identity
	// Session is the connection or HTTP session of the message. It is nil for
	// Streamable HTTP of the stateless era.
	Session *Session
	// Agreed is what Session had negotiated when the message was read. Its requests to the
	// client are sent only for as long as that is in force.
	Agreed *dialect.Session
	// StatelessOwner is the owner of a message without a session. See Owner.
	StatelessOwner *limit.Owner
	// BackChannel is nil if no message can precede the reply.
	BackChannel BackChannel
	// HTTP describes the HTTP request that carried the message or, for HTTP+SSE, opened
	// the connection.
	HTTP HTTPRequest
	// Draining is closed when the connection of the message starts to shut down: a
	// subscription then ends with its result. Nil is never closed.
	Draining <-chan struct{}
}

// TransportInfo returns the properties of the transport that the dialect needs.
func (in *Inbound) TransportInfo() dialect.TransportInfo {
	return dialect.TransportInfo{Binding: in.Binding, Headers: in.Headers, InParts: in.InParts, Session: in.Agreed}
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

// ErrNoBackChannel reports that no request can be sent to the sender of a message.
var ErrNoBackChannel = errors.New("the caller cannot receive requests here")

// SendRequest sends a request to the sender of the message, on its back channel, and returns
// the response. If ctx ends first, it sends the cancellation that encodeCancel returns. It
// fails with ErrReinitialized when the session is or has been initialized again.
func (in *Inbound) SendRequest(ctx context.Context, encode, encodeCancel func(jsonrpc.ID) []byte) (jsonrpc.Message, error) {
	if in.Session == nil || in.BackChannel == nil {
		return jsonrpc.Message{}, ErrNoBackChannel
	}
	return in.Session.sendRequest(ctx, in, encode, encodeCancel)
}

// Session is the server's state of a connection, or of a session of Streamable HTTP. Every
// exported field except CoreValue is set before the first message; Core.Opened sets Share
// and Unsent.
//
// The order of messages depends on their kind. Requests run concurrently. Responses and
// cancellations take effect before the next message is read. All other notifications are
// handled one after the other, in the order in which they were received; a slow handler
// delays later notifications and nothing else.
type Session struct {
	Principal mcp.Principal
	// Owner is the owner to which limits charge everything that the session holds.
	Owner limit.Owner
	// Push sends a message that belongs to no call. It waits for a slow client at most as
	// long as the pipe's write timeout. It may keep the message.
	Push func(ctx context.Context, msg []byte) error
	// Queues says that Push never waits for the client.
	Queues bool
	// End closes the connection or session. It may be called more than once.
	End func()
	// Spawn starts the goroutine that handles notifications; the creator of the session
	// waits for it. If it is nil, ServeConn waits for the goroutine.
	Spawn func(run func())

	// Share bounds the calls of the session that run at once. Nil is unbounded.
	Share *limit.Share
	// Unsent counts the large replies that are not written yet. Nil is unbounded.
	Unsent *UnsentLimit

	// CoreValue is what the Core keeps for the session, or nil.
	CoreValue atomic.Pointer[any]

	// Presence records whether the client is connected.
	Presence Presence

	Running peer.Running
	Pending peer.Pending

	notifications atomic.Pointer[Dispatcher[func()]] // created by the first notification; most sessions have none
	unwritten     unwritten
	agreed        atomic.Pointer[dialect.Session]
	identity      atomic.Pointer[mcp.Identity]
}

// Identify sets the identity of the session's most recent sender.
func (s *Session) Identify(i *mcp.Identity) { s.identity.Store(i) }

// Identity returns the identity of the session's most recent sender, or nil if that is
// anonymous.
func (s *Session) Identity() *mcp.Identity { return s.identity.Load() }

// WaitIdle returns nil once the reply to every request of the connection is written and
// every notification that was queued before the call is handled, or the cause of ctx. In a
// session of Streamable HTTP, which outlives its connections, it waits for notifications
// only.
func (s *Session) WaitIdle(ctx context.Context) error {
	return cmp.Or(s.unwritten.awaitNone(ctx), s.flushNotifications(ctx))
}

// Agreed returns the result of the negotiation by initialize, or nil before it.
func (s *Session) Agreed() *dialect.Session { return s.agreed.Load() }

// Agree sets the result of the negotiation by initialize. It returns false if the session
// was initialized before.
func (s *Session) Agree(d *dialect.Session) bool { return s.agreed.CompareAndSwap(nil, d) }

// AgreeAgain replaces the result of an earlier negotiation. The requests of calls that were
// received before it fail with ErrReinitialized: whoever is connected now may have other
// capabilities, and was not asked.
func (s *Session) AgreeAgain(d *dialect.Session) {
	s.agreed.Store(d)
	s.Pending.RefuseAll(ErrReinitialized) // after the store, see sendRequest
}

// ErrReinitialized is the error of requests to a client after whose call another initialize
// was received.
var ErrReinitialized = errors.New("the client was initialized again")

func (s *Session) sendRequest(ctx context.Context, in *Inbound, encode, encodeCancel func(jsonrpc.ID) []byte) (jsonrpc.Message, error) {
	send := in.BackChannel.Send
	w, err := s.Pending.Open()
	if err != nil {
		return jsonrpc.Message{}, err
	}
	if s.Agreed() != in.Agreed { // after Open, so that AgreeAgain refuses those that pass
		w.Close()
		return jsonrpc.Message{}, ErrReinitialized
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
