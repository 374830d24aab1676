package listen

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// conn is a connection that has a place in the pool of its Listener until it is closed.
type conn struct {
	net.Conn
	place    *limit.Place
	release  func() // gives the place back; may be called several times
	admitted atomic.Bool

	mu       sync.Mutex
	accepted time.Time   // guarded by mu
	deadline *time.Timer // guarded by mu: closes a connection that is not admitted; nil while none is due
}

// Close closes the connection and gives its place back.
func (c *conn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// Admit notes that a request of the connection was let through.
func (c *conn) Admit() {
	if c.admitted.Load() {
		return
	}
	c.admitted.Store(true)
	c.stopDeadline()
}

const (
	// admissionTimeout is how long a connection may be idle after it was accepted, unless a
	// request of it is admitted.
	admissionTimeout = 30 * time.Second
	// unadmittedIdle is how long it may be idle later. Clients that are about to use it again
	// need some time.
	unadmittedIdle = 5 * time.Second
)

// startDeadline closes the connection some time later, unless it is used or was admitted.
func (c *conn) startDeadline() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.admitted.Load() {
		return
	}
	if c.accepted.IsZero() {
		c.accepted = time.Now()
	}
	c.deadline = time.AfterFunc(max(time.Until(c.accepted.Add(admissionTimeout)), unadmittedIdle), c.abort)
}

func (c *conn) stopDeadline() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deadline != nil {
		c.deadline.Stop()
		c.deadline = nil
	}
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
