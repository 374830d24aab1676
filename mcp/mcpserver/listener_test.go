package mcpserver_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// A failure here means that a client whose headers are too long finds its
// connection reset, and does not learn why.
func TestHeadersThatAreTooLongAreAnswered(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	s := mcpserver.New("s", "1", nil)
	go func() { ended <- s.ServeListener(ctx, listener, s.HTTPHandler()) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	go func() { // while the server has already answered
		_, _ = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nX-Long: %s\r\n\r\n", strings.Repeat("x", 1<<20))
	}()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("got %v, want an answer", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body) // until the server closes
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge || err != nil {
		t.Errorf("got %s %s, %v, want 431 and its end", resp.Status, text, err)
	}
}

// crowd is a server with room for few connections, and those that were made to it.
type crowd struct {
	t     *testing.T
	pipes *pipes
	stop  func() <-chan error
	told  limitsTold
}

func newCrowd(t *testing.T, room int) *crowd {
	c := &crowd{t: t}
	srv := mcpserver.New("crowd", "1", &mcpserver.Options{
		HTTP: &mcpserver.HTTPOptions{MaxConns: room, LameDuck: -1}, Logger: textLog(new(logbook)), OnLimit: c.told.hear,
	})
	srv.Tool("wait", "", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	c.pipes, c.stop = serveListener(t, srv)
	return c
}

// dialFrom makes a connection that comes from an address.
func (c *crowd) dialFrom(address string) net.Conn {
	c.t.Helper()
	ours, theirs := net.Pipe()
	c.pipes.dialled <- connFrom{theirs, &net.TCPAddr{IP: net.ParseIP(address), Port: 1}}
	synctest.Wait()
	c.t.Cleanup(func() { ours.Close() })
	return ours
}

// connFrom is a connection that says which address it comes from.
type connFrom struct {
	net.Conn
	from *net.TCPAddr
}

func (c connFrom) RemoteAddr() net.Addr { return c.from }

// isOpen reports whether the server has not closed a connection.
func isOpen(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
	defer conn.SetReadDeadline(time.Time{})
	_, err := conn.Read(make([]byte, 1))
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// use makes a request and reports whether it is answered.
func use(conn net.Conn) bool {
	if _, err := fmt.Fprint(conn, "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return false
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, response.Body)
	synctest.Wait()
	return response.StatusCode == http.StatusOK
}

// occupy begins a request that lasts.
func occupy(conn net.Conn) {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait",` + metaModern + `}}`
	_, _ = fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: wait\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	synctest.Wait()
}

func TestFullListenerClosesTheConnectionThatIsIdleForLongest(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 3)
		first, second, unused := c.dialFrom("127.0.0.1"), c.dialFrom("127.0.0.1"), c.dialFrom("127.0.0.1")
		if !use(second) || !use(first) {
			t.Fatal("want the connections served")
		}
		if newcomer := c.dialFrom("127.0.0.1"); isOpen(unused) || !use(newcomer) {
			t.Error("want the connection closed that was never used, and the newcomer served")
		}
		if newcomer := c.dialFrom("127.0.0.1"); isOpen(second) || !isOpen(first) || !use(newcomer) {
			t.Error("want the connection closed that is idle for longest, and the newcomer served")
		}
		if n := c.told.of(mcp.LimitConnections); n != 2 {
			t.Errorf("%s was told %d times, want 2", mcp.LimitConnections, n)
		}
		<-c.stop()
	})
}

func TestFullListenerRefusesOneWhenAllConnectionsAreInUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 2)
		one, other := c.dialFrom("127.0.0.1"), c.dialFrom("127.0.0.1")
		occupy(one)
		occupy(other)
		if late := c.dialFrom("127.0.0.1"); isOpen(late) {
			t.Error("want the newcomer closed")
		}
		if n := c.told.of(mcp.LimitConnections); n != 1 {
			t.Errorf("%s was told %d times, want once", mcp.LimitConnections, n)
		}
		one.Close()
		synctest.Wait()
		if late := c.dialFrom("127.0.0.1"); !use(late) {
			t.Error("want a newcomer served when there is room")
		}
		<-c.stop()
	})
}

func TestConnectionsOfOneAddressKeepNoOtherOut(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 4)
		var greedy []net.Conn
		for range 4 {
			conn := c.dialFrom("192.0.2.1")
			occupy(conn)
			greedy = append(greedy, conn)
		}
		modest := c.dialFrom("192.0.2.2")
		if !use(modest) {
			t.Fatal("want the connection of another address served")
		}
		for range 4 {
			conn := c.dialFrom("192.0.2.1")
			_, _ = fmt.Fprint(conn, "GET /")
		}
		if !isOpen(modest) || !use(modest) {
			t.Error("want the connection kept of an address that has one")
		}
		_, _ = io.Copy(io.Discard, greedy[0])
		<-c.stop()
	})
}
