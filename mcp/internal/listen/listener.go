package listen

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// descriptorPoll is how often Accept checks for free file descriptors while there are too
// few: other parts of the process may free some.
const descriptorPoll = 100 * time.Millisecond

// Listener is a net.Listener that bounds the open connections. When there are as many as
// allowed, a new connection replaces the one that has been idle longest, of the owner that
// has most (see limit.Pool). A connection of which no request was admitted (see ConnContext)
// counts as idle also during a request. If none is idle, the new connection is closed, unless
// another address has more connections than the address of the new one. One address has at most
// half of the connections, where addresses distinguish clients.
//
// While 95 percent of the file descriptors of the process are in use, Accept closes idle
// connections for the new one, which waits if there are no idle ones: the process needs the
// rest for the connections that it serves. Others wait in the queue of the operating system.
//
// Make one with New. ConnState is to be the ConnState of the http.Server. All methods are
// safe for concurrent use.
type Listener struct {
	net.Listener
	// TrustedProxies are addresses whose connections carry requests of many clients. It must not
	// be changed after the first Accept.
	TrustedProxies []netip.Prefix

	pool         *limit.Pool
	limitReached func(mcp.Limit)
	scarce       func() bool   // reports whether file descriptors are scarce
	closed       chan struct{} // closed by Close
	closeOnce    sync.Once

	mu   sync.Mutex
	open int // guarded by mu: connections
	// secure are the open connections that Accept has returned as *tls.Conn, because
	// net/http recognises only that type. Guarded by mu.
	secure     map[*tls.Conn]*conn
	connClosed chan struct{} // guarded by mu: closed, and replaced, when a connection is closed
}

// New returns a Listener that accepts connections of l, of which up to maxConns are open
// together. It calls limitReached with LimitConnections for each connection that it closes,
// and with LimitDescriptors when file descriptors become scarce. limitReached is called
// without a lock. Panics of l and of its connections are contained (usercode.Listener) and logged.
func New(l net.Listener, maxConns int, limitReached func(mcp.Limit), logger *slog.Logger) *Listener {
	return &Listener{
		Listener: usercode.Listener(l, logger), limitReached: limitReached, scarce: descriptorsScarce,
		closed: make(chan struct{}), connClosed: make(chan struct{}),
		secure: make(map[*tls.Conn]*conn), pool: limit.NewPool(limit.PoolBounds{Total: int64(maxConns), Address: addressShare(maxConns), KeepBusy: true}),
	}
}

// addressShare returns how many of maxConns connections one address may have: half of them, or of
// those for which there are descriptors.
func addressShare(maxConns int) int64 {
	return int64(max(min(maxConns, descriptorLimit())/2, 1))
}

// Accept returns the next connection for which there is room. It closes the others.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		// The new connection has no place yet. Otherwise it would be the first to be closed, for
		// it is the only one without an admitted request where all others are idle.
		if err := l.waitForDescriptors(); err != nil {
			closeConn(accepted)
			return nil, err
		}
		if c := l.admit(accepted); c != nil {
			return c, nil
		}
	}
}

// admit returns a connection that has a place in the pool. If there is no place, it closes
// the accepted connection and returns nil. A *tls.Conn is returned as it is, because net/http
// does the handshake, HTTP/2 and Request.TLS only for that type.
func (l *Listener) admit(accepted net.Conn) net.Conn {
	c := &conn{Conn: accepted}
	place, err := l.pool.Take(l.ownerOf(accepted), 1, func() {
		l.limitReached(mcp.LimitConnections)
		c.abort()
	})
	if err != nil {
		l.limitReached(mcp.LimitConnections)
		closeConn(accepted)
		return nil
	}
	c.place = place
	c.release = sync.OnceFunc(func() {
		place.Release()
		l.countClosed()
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open++
	if secure, ok := accepted.(*tls.Conn); ok {
		l.secure[secure] = c
		return secure
	}
	return c
}

// conn returns what the Listener knows of a connection that Accept has returned, or nil. A
// *tls.Conn is forgotten if its state is the last one that an http.Server reports.
func (l *Listener) conn(c net.Conn, state http.ConnState) *conn {
	secure, ok := c.(*tls.Conn)
	if !ok {
		bounded, _ := c.(*conn)
		return bounded
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	bounded := l.secure[secure]
	if state == http.StateClosed || state == http.StateHijacked {
		delete(l.secure, secure)
	}
	return bounded
}

// ownerOf returns the owner for which a connection counts: its address, or on the loopback
// interface and for trusted proxies the connection itself.
func (l *Listener) ownerOf(c net.Conn) limit.Owner {
	var ip netip.Addr
	_ = usercode.Run(func() error { // of a connection below TLS
		if from, ok := c.RemoteAddr().(*net.TCPAddr); ok {
			ip = from.AddrPort().Addr().Unmap().WithZone("")
		}
		return nil
	})
	if slices.ContainsFunc(l.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(ip) }) {
		ip = netip.Addr{}
	}
	return limit.OwnerOf(mcp.PrincipalAnonymous, ip, limit.NewMember())
}

// ConnContext returns the context for the requests of a connection, by which a server admits it
// (limit.AdmitConn): a connection that is not admitted counts as one that was never used, also
// during a request, and is closed when it has been idle for 30 seconds. It is for the ConnContext of an http.Server.
func (l *Listener) ConnContext(ctx context.Context, c net.Conn) context.Context {
	if bounded := l.conn(c, http.StateNew); bounded != nil {
		return limit.WithConn(ctx, bounded)
	}
	return ctx
}

// ConnState records whether a connection is idle, and whether a TLS connection is closed. It
// is for the ConnState of an http.Server, and ignores connections that are not of this
// Listener. A connection that a handler hijacks keeps its place until it is closed; a TLS
// connection gives it back at once.
func (l *Listener) ConnState(c net.Conn, state http.ConnState) {
	bounded := l.conn(c, state)
	if bounded == nil {
		return
	}
	switch state {
	case http.StateNew, http.StateIdle:
		bounded.end()
	case http.StateActive:
		bounded.begin()
	case http.StateClosed, http.StateHijacked:
		bounded.stopDeadline()
		bounded.place.SetBusy()
		if _, ok := c.(*tls.Conn); ok {
			bounded.release()
		}
	}
}

// waitForDescriptors returns nil once there are enough file descriptors for another
// connection. It returns net.ErrClosed if the Listener is closed earlier.
func (l *Listener) waitForDescriptors() error {
	for reported := false; l.scarce(); reported = true {
		if !reported {
			l.limitReached(mcp.LimitDescriptors)
		}
		if l.pool.EvictIdle() {
			continue
		}
		_, connClosed := l.state()
		select {
		case <-connClosed:
		case <-time.After(descriptorPoll):
		case <-l.closed:
			return net.ErrClosed
		}
	}
	return nil
}

// countClosed counts a connection as closed and wakes those that wait for it.
func (l *Listener) countClosed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	close(l.connClosed)
	l.connClosed = make(chan struct{})
}

// state returns the number of open connections, and a channel that is closed when the next
// of them is closed.
func (l *Listener) state() (open int, connClosed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open, l.connClosed
}

// WaitUntilUnused returns nil once no connection is open or the Listener is closed, or else
// the cause of ctx.
func (l *Listener) WaitUntilUnused(ctx context.Context) error {
	return l.waitUntilUnused(ctx, l.closed)
}

// WaitForConns is WaitUntilUnused for a Listener that is closed.
func (l *Listener) WaitForConns(ctx context.Context) error { return l.waitUntilUnused(ctx, nil) }

func (l *Listener) waitUntilUnused(ctx context.Context, stop <-chan struct{}) error {
	for {
		open, connClosed := l.state()
		if open == 0 {
			return nil
		}
		select {
		case <-connClosed:
		case <-stop:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Close closes the listener. It does not close the connections.
func (l *Listener) Close() error {
	l.closeOnce.Do(func() { close(l.closed) })
	return l.Listener.Close()
}
