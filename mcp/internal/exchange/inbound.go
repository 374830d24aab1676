package exchange

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

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

// Owner returns the owner to which limits charge the message and everything that it causes:
// the owner of its session or, without a session, the sender.
func (in *Inbound) Owner() limit.Owner {
	switch {
	case in.Session != nil:
		return in.Session.Owner
	case in.StatelessOwner != nil:
		return *in.StatelessOwner
	}
	return limit.OwnerOf(in.Principal(), netip.Addr{}, 0)
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
