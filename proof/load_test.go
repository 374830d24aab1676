//go:build load && unix

package proof

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

const (
	idleStreams = 9_000 // of each era
	slowReaders = 200
	goodCalls   = 2_000
)

// maxStreamCost is what an idle stream may cost more than one of bare net/http, in KiB of
// resident memory: 6 of heap for a subscription, or a session and its stream, and the
// stack of a handler that has run further.
const maxStreamCost = 20

// A failure here means that idle streams cost too much or delay others. This process
// holds the streams, and another one serves them.
func TestLoadIdleStreams(t *testing.T) {
	needDescriptors(t, 2*idleStreams+200)
	plain := startChild(t, "http")
	bare := cost(t, plain, (*openConnections).bare, func() {})
	plain.end(t)

	server := startChild(t, "http")
	defer server.end(t)
	began, alone := time.Now(), time.Duration(0)
	var opened, p99 time.Duration
	var get float64
	listen := cost(t, server, (*openConnections).listen, func() {
		alone = time.Since(began)
		get = cost(t, server, (*openConnections).get, func() {
			opened = time.Since(began)
			p99 = goodCaller(t, server.addr)
		})
	})
	t.Attr("verdict", fmt.Sprintf("load: %d listen and %d GET streams opened in %.1f s (the former in %.1f s); KiB of memory each: %.1f and %.1f, bare net/http %.1f; p99 of a good client %s",
		idleStreams, idleStreams, opened.Seconds(), alone.Seconds(), listen, get, bare, p99))
	if max(listen, get) > bare+maxStreamCost || p99 > 50*time.Millisecond {
		t.Errorf("got %.1f and %.1f KiB for each stream, bare %.1f, p99 %s", listen, get, bare, p99)
	}
}

// cost opens streams, and calls the function while they are open. It returns the server's
// memory for one stream in KiB.
func cost(t *testing.T, server *child, one func(*openConnections) (net.Conn, error), while func()) float64 {
	t.Helper()
	held := &openConnections{t: t, addr: server.addr}
	defer held.leave()
	before := server.holdings(t)
	held.open(idleStreams, func() (net.Conn, error) { return one(held) })
	after := server.holdings(t)
	while()
	if lost := held.lost(); lost > 0 {
		t.Errorf("%d streams have ended", lost)
	}
	return float64(after.Resident-before.Resident) / idleStreams / 1024
}

// A failure here means that slow readers delay others.
func TestLoadSlowReaders(t *testing.T) {
	server := startChild(t, "http")
	defer server.end(t)
	quiet := min(goodCaller(t, server.addr), goodCaller(t, server.addr))
	held := &openConnections{t: t, addr: server.addr}
	held.open(slowReaders, held.much)
	stop := make(chan struct{})
	var reading sync.WaitGroup
	for _, conn := range held.conns {
		reading.Go(func() { trickle(conn, stop) })
	}
	time.Sleep(2 * time.Second) // until the server has filled the buffers in between
	busy := min(goodCaller(t, server.addr), goodCaller(t, server.addr))
	close(stop)
	held.leave()
	reading.Wait()
	t.Attr("verdict", fmt.Sprintf("load: p99 of a good client %s alone, %s beside %d readers of one byte a second", quiet, busy, slowReaders))
	if busy > 2*max(quiet, time.Millisecond) {
		t.Errorf("p99 is %s beside slow readers and %s without, want twice that at most", busy, quiet)
	}
}

func needDescriptors(t *testing.T, n uint64) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Max < n {
		t.Skipf("the descriptors of a process are limited to %d, and %d are needed: see ulimit -n", limit.Max, n)
	}
}

// openConnections are connections that are held open.
type openConnections struct {
	t     *testing.T
	addr  string
	mu    sync.Mutex
	conns []net.Conn
}

// open opens n streams, a few at a time.
func (c *openConnections) open(n int, one func() (net.Conn, error)) {
	c.t.Helper()
	var all sync.WaitGroup
	places := make(chan struct{}, 64)
	for range n {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			conn, err := one()
			if err != nil {
				c.t.Error(err)
				return
			}
			c.mu.Lock()
			c.conns = append(c.conns, conn)
			c.mu.Unlock()
		})
	}
	all.Wait()
}

func (c *openConnections) leave() {
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}

// lost counts the streams that the server has closed.
func (c *openConnections) lost() (n int) {
	buf := make([]byte, 4<<10)
	for _, conn := range c.conns {
		_ = conn.SetReadDeadline(time.Now().Add(time.Microsecond))
		if _, err := conn.Read(buf); err != nil && !isTimeout(err) {
			n++
		}
	}
	return n
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}

// bare opens a stream of bare net/http.
func (c *openConnections) bare() (net.Conn, error) {
	return c.request(func(w *httpPipe) *rawRequest {
		return &rawRequest{line: "GET /bare HTTP/1.1", headers: []string{"Host: " + w.addr}}
	}, "HTTP/1.1 200")
}

// listen opens a stream of the stateless era.
func (c *openConnections) listen() (net.Conn, error) {
	text := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{}}}}`, mcp.V20260728)
	return c.request(func(w *httpPipe) *rawRequest {
		return w.newRequest([]byte(text), "subscriptions/listen", "")
	}, "acknowledged")
}

// get opens the stream of a session, which it initializes first.
func (c *openConnections) get() (net.Conn, error) {
	w := &httpPipe{t: c.t, addr: c.addr, revision: mcp.V20251125}
	w.dial()
	resp, _, err := w.post(w.newRequest([]byte(opening(w.revision)), "initialize", ""))
	if err != nil {
		return nil, err
	}
	w.session = resp.Header.Get("Mcp-Session-Id")
	if _, _, err := w.post(w.newRequest([]byte(opened), "notifications/initialized", "")); err != nil {
		return nil, err
	}
	r := w.newRequest(nil, "", "")
	r.line = "GET /mcp HTTP/1.1"
	if _, err := w.conn.Write(r.bytes()); err != nil {
		return nil, err
	}
	answer, err := http.ReadResponse(w.in, nil)
	if err != nil || answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET: got %v, %w", answer, err)
	}
	return w.conn, w.conn.SetDeadline(time.Time{})
}

func (c *openConnections) much() (net.Conn, error) {
	return c.request(func(w *httpPipe) *rawRequest {
		return w.newRequest(largeCall(), "tools/call", "much")
	}, "HTTP/1.1 200")
}

// request sends a request and returns the connection when the response has begun.
func (c *openConnections) request(form func(*httpPipe) *rawRequest, want string) (net.Conn, error) {
	conn, err := net.Dial("tcp", c.addr)
	if err != nil {
		return nil, err
	}
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil { // so that a reader that stops is noticed
		return nil, err
	}
	if _, err := conn.Write(form(&httpPipe{addr: c.addr, revision: mcp.V20260728}).bytes()); err != nil {
		return nil, err
	}
	for lines := bufio.NewReaderSize(conn, 512); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if strings.Contains(line, want) {
			return conn, nil
		}
	}
}

// trickle reads one byte per second.
func trickle(conn net.Conn, stop <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			if _, err := conn.Read(make([]byte, 1)); err != nil {
				return
			}
		}
	}
}

// goodCaller returns the 99th percentile of sequential calls over one connection.
func goodCaller(t *testing.T, addr string) time.Duration {
	t.Helper()
	w := overHTTP(t, addr, mcp.V20260728, true).(*httpPipe)
	defer w.close()
	took := make([]time.Duration, goodCalls)
	for i := range took {
		began := time.Now()
		if fault := w.health("no answer"); fault != "" {
			t.Fatal(fault)
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}
