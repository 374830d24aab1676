package listen

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// conn is a connection that has a place in the pool of its Listener until it is closed.
type conn struct {
	net.Conn
	place    *limit.Place
	release  func() // gives the place back; may be called several times
	admitted atomic.Bool

	mu       sync.Mutex
	active   bool        // guarded by mu: a request is being served
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
	c.mu.Lock()
	defer c.mu.Unlock()
	c.admitted.Store(true)
	c.stopDeadlineLocked()
	if c.active { // HTTP/2 can be idle again: the client may cancel a request that is still being served
		c.place.SetBusy()
	}
}

// begin notes that the connection has a request. Until it is admitted, the connection goes on
// counting as one that was never used: a stranger does not keep a place by a request that does
// not end.
func (c *conn) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopDeadlineLocked()
	c.active = true
	if c.admitted.Load() {
		c.place.SetBusy()
	} else {
		c.place.SetIdle(false)
	}
}

// end notes that the connection has no request any more.
func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active = false
	c.place.SetIdle(c.admitted.Load())
	c.startDeadlineLocked()
}

const (
	// admissionTimeout is how long a connection may be idle after it was accepted, unless a
	// request of it is admitted.
	admissionTimeout = 30 * time.Second
	// unadmittedIdle is how long it may be idle later. Clients that are about to use it again
	// need some time.
	unadmittedIdle = 5 * time.Second
)

// startDeadlineLocked closes the connection some time later, unless it is used or was admitted.
func (c *conn) startDeadlineLocked() {
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
	c.stopDeadlineLocked()
}

func (c *conn) stopDeadlineLocked() {
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
	closeConn(below)
}

// closeConn closes a connection. A panic is possible where the connection is below TLS.
func closeConn(c net.Conn) { _ = usercode.Run(c.Close) }

// CloseWrite closes the sending side. net/http uses it when it has not read a request to
// its end: the client can read the response before the connection is closed, where a
// Close would reset the connection.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
