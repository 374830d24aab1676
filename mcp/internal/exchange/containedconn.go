package exchange

import (
	"context"
	"log/slog"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// ContainPanics returns a connection that wraps conn: a panic of a method of conn becomes the
// error of that method. The panic is logged with its stack.
func ContainPanics(conn mcp.Conn, logger *slog.Logger) mcp.Conn {
	c := containedConn{conn, logger}
	if batch, ok := conn.(BatchConn); ok {
		return &containedBatchConn{c, batch}
	}
	return &c
}

// containedConn wraps a connection that the user of the library implements.
type containedConn struct {
	conn   mcp.Conn
	logger *slog.Logger
}

// Read implements mcp.Conn.
func (c *containedConn) Read(ctx context.Context) (msg []byte, err error) {
	defer c.contain(ctx, "Read", &err)
	return c.conn.Read(ctx)
}

// Write implements mcp.Conn.
func (c *containedConn) Write(ctx context.Context, msg []byte) (err error) {
	defer c.contain(ctx, "Write", &err)
	return c.conn.Write(ctx, msg)
}

// Close implements mcp.Conn.
func (c *containedConn) Close() (err error) {
	defer c.contain(context.Background(), "Close", &err)
	return c.conn.Close()
}

// IsHungUp is that of the connection, if it can tell.
func (c *containedConn) IsHungUp() (hungUp bool) {
	if peer, ok := c.conn.(hangUpConn); ok {
		var err error
		defer c.contain(context.Background(), "IsHungUp", &err)
		return peer.IsHungUp()
	}
	return false
}

// contain is deferred: it converts a panic to an error.
func (c *containedConn) contain(ctx context.Context, method string, err *error) {
	if v := recover(); v != nil {
		p := usercode.NewPanic(v)
		*err = p
		c.logger.LogAttrs(ctx, slog.LevelError, "connection panicked", append(usercode.Attrs(p), slog.String("method", method))...)
	}
}

// containedBatchConn is a containedConn that writes several messages at once.
type containedBatchConn struct {
	containedConn
	batch BatchConn
}

// WriteAll implements BatchConn.
func (c *containedBatchConn) WriteAll(ctx context.Context, msgs [][]byte) (err error) {
	defer c.contain(ctx, "WriteAll", &err)
	return c.batch.WriteAll(ctx, msgs)
}
