package mcpclient

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// connection is one connection to the server, or one session over HTTP, with what was
// negotiated over it. It receives the requests and notifications of the server.
type connection struct {
	client       *Client
	http         bool // Streamable HTTP
	link         exchange.Link
	pid          int                       // of the program of a CommandTarget, else 0
	agreed       atomic.Pointer[agreement] // nil until the server has answered the handshake
	assumed      atomic.Bool               // agreed is that of Options.Prior, and the server has not answered a request yet
	lastReceived atomic.Int64              // time of the last message of the server, in Unix nanoseconds

	ignoresUndeclared atomic.Bool // a list that the server does not declare got no response

	currentSince time.Time    // when it became Client.current; guarded by Client.mu
	lossCounted  bool         // lasted has returned its duration; guarded by Client.mu
	endedAt      atomic.Int64 // when the end of the link was noticed, in Unix nanoseconds

	checking   atomic.Bool // checkSession runs
	reportOnce sync.Once   // reports the end of the link
	resources  *resourceSubscriptions
}

var _ exchange.Inbox = (*connection)(nil)

func newConnection(c *Client) *connection {
	k := &connection{client: c}
	k.resources = newResourceSubscriptions(k)
	return k
}

// dialect returns the dialect of the negotiated revision. Before the negotiation it
// returns one of the session era, in which a server may ping.
func (k *connection) dialect() *dialect.Client {
	if a := k.agreed.Load(); a != nil {
		return a.dialect
	}
	return &dialect.Client{Facts: dialect.Newest(dialect.SessionEra)}
}

func (k *connection) stateless() bool { return k.dialect().Facts.Era == dialect.StatelessEra }

// mirrors reports whether arguments of tools are sent as headers as well.
func (k *connection) mirrors() bool { return k.http && k.dialect().Facts.StandardHeaders }

func (k *connection) received() { k.lastReceived.Store(time.Now().UnixNano()) }

// Limits implements exchange.Inbox.
func (k *connection) Limits() jsonrpc.Limits { return k.client.opts.limits() }

// Request implements exchange.Inbox: it answers one request of the server. It drops
// requests in the stateless era, whose servers send none.
//
// Spec: 2026-07-28 basic/transports#stdio
func (k *connection) Request(ctx context.Context, m jsonrpc.Message) []byte {
	k.received()
	c, d := k.client, k.dialect()
	if d.Facts.Era == dialect.StatelessEra {
		c.warnOfServer("", "request of the server dropped: the revision does not allow it", "method", m.Method)
		return nil
	}
	result, err := c.answerRequest(ctx, d.Facts, "", m.Method, m.Params)
	if err != nil && mcp.CodeOf(err) == mcp.CodeInternal {
		level := slog.LevelError
		if ctx.Err() != nil { // the server no longer waits for the answer
			level = slog.LevelDebug
		}
		c.opts.logger().Log(ctx, level, "request of the server failed", "method", m.Method, "error", err)
	}
	if unfit, ok := errors.AsType[*unfitAnswer](err); ok { // the server may ask for the field again
		err = mcp.Errorf(mcp.CodeInvalidParams, "%s: answer: %v", m.Method, unfit.err)
	}
	return d.Reply(m.ID, result, err)
}

// Malformed implements exchange.Inbox.
func (k *connection) Malformed(bad *jsonrpc.DecodeError) []byte {
	k.client.warnOfServer("", "message of the server dropped: it cannot be read", "kind", bad.Kind, "error", bad, "text", bad.Excerpt)
	if bad.Kind != jsonrpc.Request || bad.ID.IsZero() || k.stateless() {
		return nil
	}
	return exchange.Malformed(bad).Body
}

// Notification implements exchange.Inbox. It drops notifications of subscriptions that
// have ended.
//
// Spec: 2026-07-28 basic/patterns/subscriptions
func (k *connection) Notification(m jsonrpc.Message) {
	if _, late := dialect.SubscriptionOf(m); !late {
		k.receiveNotification(m)
	}
}

// receiveNotification hands a notification to the client.
func (k *connection) receiveNotification(m jsonrpc.Message) {
	k.received()
	k.client.receiveNotification(m)
}

// encode encodes a message of the client itself.
func (k *connection) encode(method string, params any) (*dialect.Request, error) {
	return k.dialect().Request(dialect.RequestParams{Method: method, Params: params})
}

// request sends a request of the client itself, which does not go through middleware.
func (k *connection) request(ctx context.Context, method string, params any) error {
	req, err := k.encode(method, params)
	if err != nil {
		return err
	}
	m, err := k.link.Call(ctx, exchange.Outbound{Message: req})
	if err != nil {
		return err
	}
	k.received()
	if m.Error != nil {
		return k.dialect().Error(m.Error)
	}
	return nil
}

// notify sends a notification.
func (k *connection) notify(ctx context.Context, method string, params any) error {
	n, err := k.encode(method, params)
	if err != nil {
		return err
	}
	return k.link.Notify(ctx, exchange.Outbound{Message: n})
}
