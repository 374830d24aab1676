package testengine

import (
	"net"
	"sync"
	"testing"
)

// Proxy forwards TCP connections to a server and makes the faults of a network. Its methods
// are safe for concurrent use.
type Proxy struct {
	listener net.Listener
	work     sync.WaitGroup

	mu       sync.Mutex
	target   string            // guarded by mu
	refusing bool              // guarded by mu
	flowing  chan struct{}     // guarded by mu: closed while bytes are forwarded
	conns    map[*proxied]bool // guarded by mu
	closed   bool              // guarded by mu
}

// proxied is a connection of a client and the connection to the server that belongs to it.
type proxied struct {
	client, server net.Conn
	end            sync.Once
	ended          chan struct{} // closed by close
}

// NewProxy returns a proxy in front of the server at an address. It ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, target: target, flowing: make(chan struct{}), conns: make(map[*proxied]bool)}
	close(p.flowing)
	p.work.Go(p.serve)
	t.Cleanup(p.close)
	return p
}

// Addr returns the address of the proxy.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Cut closes all connections. The client's side is reset, so bytes that are on the way to the
// client are lost. New connections are accepted.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.cut()
	}
}

// Block stops forwarding bytes in both directions. Connections stay open, and new ones are
// accepted, but nothing is sent on them, as if the other side did not answer.
func (p *Proxy) Block() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.flowing:
		p.flowing = make(chan struct{})
	default: // blocked already
	}
}

// Unblock forwards what was held back since Block, and everything that follows.
func (p *Proxy) Unblock() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.flowing:
	default:
		close(p.flowing)
	}
}

// Refuse resets new connections. Present ones stay open.
func (p *Proxy) Refuse() { p.setRefusing(true) }

// Accept ends Refuse.
func (p *Proxy) Accept() { p.setRefusing(false) }

func (p *Proxy) setRefusing(refusing bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusing = refusing
}

// setTarget sets where new connections lead.
func (p *Proxy) setTarget(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = addr
}

func (p *Proxy) serve() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.work.Go(func() { p.forward(conn) })
	}
}

// forward connects a client to the server, and returns when one of them has closed its
// connection or the proxy has cut it. It resets the client's connection if there is no server.
func (p *Proxy) forward(client net.Conn) {
	p.mu.Lock()
	target, refusing := p.target, p.refusing
	p.mu.Unlock()
	if refusing {
		reset(client)
		return
	}
	server, err := net.Dial("tcp", target)
	if err != nil {
		reset(client)
		return
	}
	c := &proxied{client: client, server: server, ended: make(chan struct{})}
	if !p.add(c) {
		c.close()
		return
	}
	defer p.remove(c)
	var up sync.WaitGroup
	up.Go(func() { p.copy(c, server, client) })
	p.copy(c, client, server)
	up.Wait()
}

func (p *Proxy) add(c *proxied) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.conns[c] = true
	return true
}

func (p *Proxy) remove(c *proxied) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// copy forwards the bytes of one direction. It closes both connections when one ends.
func (p *Proxy) copy(c *proxied, to, from net.Conn) {
	defer c.close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if !p.awaitFlow(c) {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
		if err != nil {
			return
		}
	}
}

// awaitFlow waits while the proxy is blocked. It reports false if the connection was closed.
func (p *Proxy) awaitFlow(c *proxied) bool {
	p.mu.Lock()
	flowing := p.flowing
	p.mu.Unlock()
	select {
	case <-c.ended:
		return false
	case <-flowing:
		return true
	}
}

// cut is close, but discards what was not sent to the client.
func (c *proxied) cut() {
	_ = c.client.(*net.TCPConn).SetLinger(0)
	c.close()
}

func (c *proxied) close() {
	c.end.Do(func() {
		close(c.ended)
		c.client.Close()
		c.server.Close()
	})
}

// reset closes a connection so that the other side gets an error and not an end of file.
func reset(conn net.Conn) {
	_ = conn.(*net.TCPConn).SetLinger(0)
	conn.Close()
}

func (p *Proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Cut()
	p.work.Wait()
}
