package listen

import (
	"net"

	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// conn is a connection that has a place in the pool of its Listener until it is closed.
type conn struct {
	net.Conn
	place   *limit.Place
	release func() // gives the place back; may be called several times
}

// Close closes the connection and gives its place back.
func (c *conn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// abort closes the connection below TLS, because closing a TLS connection can wait for the
// peer. The goroutine that serves the connection gets an error and calls Close.
func (c *conn) abort() {
	below := c.Conn
	if secure, ok := below.(interface{ NetConn() net.Conn }); ok {
		below = secure.NetConn()
	}
	_ = below.Close()
}

// CloseWrite closes the sending side. net/http uses it when it has not read a request to
// its end: the client can read the response before the connection is closed, where a
// Close would reset the connection.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
