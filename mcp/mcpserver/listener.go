package mcpserver

import (
	"net"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// fullCheck is how often a listener that has stopped for want of descriptors looks
// whether there are some again: they may be freed by other parts of the process.
const fullCheck = 100 * time.Millisecond

// boundedListener accepts connections up to a bound, and none while 95 percent of
// the process's descriptors are in use: the rest are for what the process has to do
// for those that it serves. Who comes meanwhile waits in the system's queue.
type boundedListener struct {
	net.Listener
	most   int
	reach  func(mcp.Limit) // tells of a limit that keeps somebody waiting
	closed chan struct{}
	once   sync.Once

	mu    sync.Mutex
	open  int           // guarded by mu
	moved chan struct{} // guarded by mu: closed when a connection is
}

func newBoundedListener(l net.Listener, most int, reach func(mcp.Limit)) *boundedListener {
	return &boundedListener{Listener: l, most: most, reach: reach, closed: make(chan struct{}), moved: make(chan struct{})}
}

// Accept waits until there is room for one more.
func (l *boundedListener) Accept() (net.Conn, error) {
	if err := l.await(); err != nil {
		return nil, err
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open++
	return &boundedConn{Conn: conn, leave: sync.OnceFunc(l.leave)}, nil
}

// await returns when there is room, or the listener is closed.
func (l *boundedListener) await() error {
	for told := false; ; told = true {
		l.mu.Lock()
		crowded, moved := l.open >= l.most, l.moved
		l.mu.Unlock()
		scarce := descriptorsScarce()
		if !crowded && !scarce {
			return nil
		}
		switch {
		case told:
		case crowded:
			l.reach(mcp.LimitConnections)
		default:
			l.reach(mcp.LimitDescriptors)
		}
		if err := l.wait(moved, scarce); err != nil {
			return err
		}
	}
}

// wait waits for a connection to be closed, and no longer than a while when
// descriptors are scarce.
func (l *boundedListener) wait(moved <-chan struct{}, scarce bool) error {
	var soon <-chan time.Time
	if scarce {
		soon = time.After(fullCheck)
	}
	select {
	case <-moved:
	case <-soon:
	case <-l.closed:
		return net.ErrClosed
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

// boundedConn is a connection that counts until it is closed.
type boundedConn struct {
	net.Conn
	leave func()
}

func (c *boundedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
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
