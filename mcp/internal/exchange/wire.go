package exchange

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// Wire passes the messages of one connection, or of one HTTP request and its response, to the
// function OnMessage of a user. A nil Wire passes nothing.
type Wire struct {
	onMessage func(mcp.WireMessage)
	logger    *slog.Logger
	conn      uint64
	principal mcp.Principal // of the client, in a server
	address   netip.Addr    // of the client, in a server
}

// connections counts the connections whose messages are passed to a function.
var connections atomic.Uint64

// NewWire returns the Wire of a new connection, nil if there is no function.
func NewWire(onMessage func(mcp.WireMessage), logger *slog.Logger) *Wire {
	if onMessage == nil {
		return nil
	}
	return &Wire{onMessage: onMessage, logger: logger, conn: connections.Add(1)}
}

// Of sets the client of a connection or request of a server, and its address; nil is an anonymous one. It returns w.
func (w *Wire) Of(client *mcp.Identity, address netip.Addr) *Wire {
	if w == nil {
		return nil
	}
	w.address = address
	if client != nil {
		w.principal = client.Principal
	}
	return w
}

// Pass passes m, with the number of the connection. A panic of the function is logged. The caller
// holds no lock.
func (w *Wire) Pass(m mcp.WireMessage) {
	if w == nil {
		return
	}
	m.Conn, m.Principal, m.Address = w.conn, w.principal, w.address
	err := usercode.Run(func() error {
		w.onMessage(m)
		return nil
	})
	if err != nil {
		w.logger.LogAttrs(context.Background(), slog.LevelError, "OnMessage panicked", usercode.Attrs(err)...)
	}
}

// PassRequest passes an HTTP request.
func (w *Wire) PassRequest(r *http.Request, sent bool, body []byte) {
	if w != nil {
		w.Pass(mcp.WireMessage{Sent: sent, HTTP: &mcp.WireHTTP{Method: r.Method, Path: cmp.Or(r.URL.EscapedPath(), "/"), Header: r.Header}, Data: body})
	}
}

// Wired returns a connection that passes the messages of conn. It is conn itself if w is nil.
func (w *Wire) Wired(conn mcp.Conn) mcp.Conn {
	if w == nil {
		return conn
	}
	c := wiredConn{conn, w}
	if batch, ok := conn.(BatchConn); ok {
		return &wiredBatchConn{c, batch}
	}
	return &c
}

type wiredConn struct {
	mcp.Conn
	wire *Wire
}

// Read implements mcp.Conn. Of a message that could not be read it passes the beginning.
func (c *wiredConn) Read(ctx context.Context) ([]byte, error) {
	msg, err := c.Conn.Read(ctx)
	switch frame, dropped := err.(*mcp.FrameError); {
	case err == nil:
		c.wire.Pass(mcp.WireMessage{Data: msg})
	case dropped:
		c.wire.Pass(mcp.WireMessage{Data: frame.Head})
	}
	return msg, err
}

// Write implements mcp.Conn. It passes the message before the peer can answer it.
func (c *wiredConn) Write(ctx context.Context, msg []byte) error {
	c.wire.Pass(mcp.WireMessage{Sent: true, Data: msg})
	return c.Conn.Write(ctx, msg)
}

// IsHungUp is that of the connection, if it can tell.
func (c *wiredConn) IsHungUp() bool {
	peer, ok := c.Conn.(hangUpConn)
	return ok && peer.IsHungUp()
}

// wiredBatchConn is a wiredConn that writes several messages at once.
type wiredBatchConn struct {
	wiredConn
	batch BatchConn
}

// WriteAll implements BatchConn.
func (c *wiredBatchConn) WriteAll(ctx context.Context, msgs [][]byte) error {
	for _, msg := range msgs {
		c.wire.Pass(mcp.WireMessage{Sent: true, Data: msg})
	}
	return c.batch.WriteAll(ctx, msgs)
}
