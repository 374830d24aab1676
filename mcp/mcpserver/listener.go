package mcpserver

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// scarceCheck is how often a listener that has stopped for want of descriptors looks
// whether there are some again: they may be freed by other parts of the process.
const scarceCheck = 100 * time.Millisecond

// boundedListener bounds the connections that are open. When it is full, a newcomer
// takes the place of the connection that has been idle longest, of the owner that has
// most; see limit.Pool. When none is idle, the newcomer is closed, unless another address
// has more connections. While 95 percent of the process's descriptors are in use, idle
// connections are closed, and none is accepted if there are no such: the rest is for what
// the process has to do for those that it serves. Who comes meanwhile waits in the
// system's queue.
type boundedListener struct {
	net.Listener
	pool   *limit.Pool
	reach  func(mcp.Limit) // reports a limit that a connection was closed for or waits for
	closed chan struct{}
	once   sync.Once

	mu    sync.Mutex
	open  int           // guarded by mu
	moved chan struct{} // guarded by mu: closed when a connection is
}

func newBoundedListener(l net.Listener, most int, reach func(mcp.Limit)) *boundedListener {
	return &boundedListener{
		Listener: l, reach: reach, closed: make(chan struct{}), moved: make(chan struct{}),
		pool: limit.NewPool(limit.PoolBounds{Total: int64(most), KeepBusy: true}),
	}
}

// Accept returns the next connection for which there is room.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		if err := l.awaitDescriptors(); err != nil {
			return nil, err
		}
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.admit(conn); c != nil {
			return c, nil
		}
	}
}

// admit returns a connection that has a place, or closes it and returns nil.
func (l *boundedListener) admit(conn net.Conn) net.Conn {
	c := &boundedConn{Conn: conn}
	place, err := l.pool.Take(ownerOfConn(conn), 1, func() {
		l.reach(mcp.LimitConnections)
		c.abort()
	})
	if err != nil {
		l.reach(mcp.LimitConnections)
		_ = conn.Close()
		return nil
	}
	c.place = place
	c.leave = sync.OnceFunc(func() {
		place.Release()
		l.leave()
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open++
	return c
}

// ownerOfConn returns for whom a connection counts: its address, and on the loopback
// interface the connection alone.
func ownerOfConn(conn net.Conn) limit.Owner {
	var ip netip.Addr
	if from, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		ip = from.AddrPort().Addr()
	}
	return limit.OwnerOf(mcp.PrincipalAnonymous, ip, limit.NewMember())
}

// noteState notes which connections are in use, as the ConnState of an http.Server.
func (l *boundedListener) noteState(conn net.Conn, state http.ConnState) {
	c, ok := conn.(*boundedConn)
	if !ok {
		return
	}
	switch state {
	case http.StateNew:
		c.place.SetIdle(false)
	case http.StateActive:
		c.place.SetBusy()
	case http.StateIdle:
		c.place.SetIdle(true)
	}
}

// awaitDescriptors returns when there are enough descriptors for another connection, or
// the listener is closed.
func (l *boundedListener) awaitDescriptors() error {
	for told := false; descriptorsScarce(); told = true {
		if !told {
			l.reach(mcp.LimitDescriptors)
		}
		if l.pool.EvictIdle() {
			continue
		}
		l.mu.Lock()
		moved := l.moved
		l.mu.Unlock()
		select {
		case <-moved:
		case <-time.After(scarceCheck):
		case <-l.closed:
			return net.ErrClosed
		}
	}
	return nil
}

func (l *boundedListener) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	close(l.moved)
	l.moved = make(chan struct{})
}

// empty returns a channel that is closed when no connection is open.
func (l *boundedListener) empty() <-chan struct{} {
	empty := make(chan struct{})
	go func() {
		defer close(empty)
		for {
			l.mu.Lock()
			open, moved := l.open, l.moved
			l.mu.Unlock()
			if open == 0 {
				return
			}
			select {
			case <-moved:
			case <-l.closed:
				return
			}
		}
	}()
	return empty
}

// Close closes the listener, not the connections.
func (l *boundedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// boundedConn is a connection that holds a place until it is closed.
type boundedConn struct {
	net.Conn
	place *limit.Place
	leave func()
}

func (c *boundedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// abort closes the connection below TLS, whose Close can wait for the other end. Whoever
// serves the connection closes it then.
func (c *boundedConn) abort() {
	conn := c.Conn
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	_ = conn.Close()
}

// CloseWrite ends what is sent. It lets net/http wait until a client has read the
// answer to a request that is not read to its end, instead of resetting the
// connection under it.
func (c *boundedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
