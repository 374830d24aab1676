package gateway_test

import (
	"context"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// deadRelay is a server behind a relay. When the relay has died, the connections that it has stay open,
// and what either side sends is lost. Later connections work.
type deadRelay struct {
	Server interface {
		Serve(context.Context, mcp.Conn) error
	}

	mu    sync.Mutex
	conns []*relayedConn // guarded by mu
}

func (r *deadRelay) Serve(ctx context.Context, conn mcp.Conn) error {
	relayed := &relayedConn{Conn: conn, dead: make(chan struct{})}
	r.mu.Lock()
	r.conns = append(r.conns, relayed)
	r.mu.Unlock()
	return r.Server.Serve(ctx, relayed)
}

// die makes the relay lose what is sent over its connections from now on.
func (r *deadRelay) die() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range r.conns {
		close(conn.dead)
	}
	r.conns = nil
}

// relayedConn is the connection of the server behind a deadRelay.
type relayedConn struct {
	mcp.Conn
	dead chan struct{}
}

func (c *relayedConn) isDead() bool {
	select {
	case <-c.dead:
		return true
	default:
		return false
	}
}

func (c *relayedConn) Read(ctx context.Context) ([]byte, error) {
	for {
		message, err := c.Conn.Read(ctx)
		if err != nil || !c.isDead() {
			return message, err
		}
	}
}

func (c *relayedConn) Write(ctx context.Context, message []byte) error {
	if c.isDead() {
		return nil
	}
	return c.Conn.Write(ctx, message)
}

// flood answers a call with progress, as much as there is time for, and with no result.
func flood(c rawConn, m rawMessage) {
	for i := 1; ; i++ {
		c.progress(m, i)
		if i%100 == 0 && !c.wait(10*time.Second) {
			return
		}
	}
}
