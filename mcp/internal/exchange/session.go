package exchange

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/internal/peer"
)

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

	// Elsewhere says that another process has opened the session. Without Shared, what a
	// session keeps in the memory of its process does not work here. See ErrElsewhere.
	Elsewhere bool
	// Shared is nil if the session has nothing in common with what other processes keep.
	Shared Shared
	// Reopened says that the session was opened from its id. Its client has initialized it before.
	Reopened bool
	// HasState is set when something is kept for the session that a session which is opened
	// from the same id again would lack.
	HasState atomic.Bool

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

// ErrElsewhere refuses what works only in the process that has opened a session.
var ErrElsewhere = mcp.Errorf(mcp.CodeInvalidRequest, "this session was opened by another replica, which alone can do this; want Store and Bus on all replicas, or a load balancer that sends the requests of a session to the replica that has opened it")

// NeedsShared returns the error of a request that changes what the session keeps, or nil if
// that works here.
func (s *Session) NeedsShared() error {
	switch {
	case s.Shared != nil:
		return nil
	case s.Elsewhere:
		return ErrElsewhere
	}
	s.HasState.Store(true)
	return nil
}

// Notifies reports whether this process notifies the client of changes.
func (s *Session) Notifies() bool {
	if s.Shared != nil {
		return s.Shared.Notifies()
	}
	return !s.Elsewhere
}

// Cancel cancels a request that the client has cancelled. If it is not processed here, another
// process may process it.
func (s *Session) Cancel(id jsonrpc.ID, cause *mcp.CancelledError) {
	if !s.Running.Cancel(id, cause) && s.Shared != nil {
		s.Shared.Cancel(id, cause)
	}
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
	if s.Shared != nil {
		done, err := s.Shared.Ask(ctx, w.ID, func(m jsonrpc.Message) { s.Pending.Resolve(m) })
		if err != nil {
			return jsonrpc.Message{}, err
		}
		defer done()
	}
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
