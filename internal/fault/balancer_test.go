//go:build unix

package fault_test

import (
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// pool is a set of replicas of a server. A balancer polls their readiness.
type pool struct {
	ready []atomic.Pointer[string] // the address of each, or nil
}

// probe is the interval of readiness checks.
const probe = 20 * time.Millisecond

func (p *pool) set(i int, addr string) { p.ready[i].Store(&addr) }

// watch polls each replica until the test ends, and removes it while it is not ready.
func (p *pool) watch(t *testing.T) {
	stop, ended := make(chan struct{}), make(chan struct{})
	client := &http.Client{Timeout: patience}
	go func() {
		defer close(ended)
		defer client.CloseIdleConnections()
		tick := time.NewTicker(probe)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				p.check(client)
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-ended })
}

func (p *pool) check(client *http.Client) {
	for i := range p.ready {
		addr := p.ready[i].Load()
		if addr == nil {
			continue
		}
		response, err := client.Get("http://" + *addr + "/readyz")
		if err == nil {
			response.Body.Close()
		}
		if err != nil || response.StatusCode != http.StatusOK {
			p.ready[i].CompareAndSwap(addr, nil)
		}
	}
}

// balancer connects one client to ready replicas: round robin, or with sessions to the
// same one while it is ready.
type balancer struct {
	net.Listener
	pool   *pool
	sticky bool
	next   int
	work   sync.WaitGroup
}

func newBalancer(t *testing.T, p *pool, sticky bool) *balancer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{Listener: l, pool: p, sticky: sticky}
	b.work.Go(b.run)
	t.Cleanup(func() {
		l.Close()
		b.work.Wait()
	})
	return b
}

func (b *balancer) url() string { return "http://" + b.Addr().String() + "/mcp" }

func (b *balancer) run() {
	for {
		conn, err := b.Accept()
		if err != nil {
			return
		}
		server := b.dial()
		if server == nil {
			conn.Close()
			continue
		}
		b.work.Go(func() { splice(conn, server) })
	}
}

// dial connects to a ready replica. It skips replicas that cannot be reached.
func (b *balancer) dial() net.Conn {
	n := len(b.pool.ready)
	for try := range n {
		i := (b.next + try) % n
		addr := b.pool.ready[i].Load()
		if addr == nil {
			continue
		}
		if conn, err := net.Dial("tcp", *addr); err == nil {
			if b.next = i; !b.sticky {
				b.next = i + 1
			}
			return conn
		}
	}
	return nil
}

// splice copies both ways until one side ends.
func splice(one, other net.Conn) {
	var ended sync.WaitGroup
	copyTo := func(to, from net.Conn) {
		_, _ = io.Copy(struct{ io.Writer }{to}, from) // prevents splice(2), whose pipes stay open
		_ = to.(*net.TCPConn).CloseWrite()
		_ = from.(*net.TCPConn).CloseRead()
	}
	ended.Go(func() { copyTo(one, other) })
	ended.Go(func() { copyTo(other, one) })
	ended.Wait()
	one.Close()
	other.Close()
}
