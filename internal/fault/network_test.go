//go:build unix

package fault_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// blackhole is a proxy that can discard everything that is sent, without notice to either
// side.
type blackhole struct {
	net.Listener
	to   string
	dead atomic.Bool
	work sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn // guarded by mu
}

func newBlackhole(t *testing.T, to string) *blackhole {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &blackhole{Listener: l, to: to}
	h.work.Go(h.run)
	t.Cleanup(func() {
		l.Close()
		h.cut()
		h.work.Wait()
	})
	return h
}

// cut closes all connections, as after the restart of a machine.
func (h *blackhole) cut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, conn := range h.conns {
		conn.Close()
	}
	h.conns = nil
}

func (h *blackhole) run() {
	for {
		client, err := h.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", h.to)
		if err != nil {
			client.Close()
			continue
		}
		h.mu.Lock()
		h.conns = append(h.conns, client, server)
		h.mu.Unlock()
		h.work.Go(func() { h.copy(server, client) })
		h.work.Go(func() { h.copy(client, server) })
	}
}

func (h *blackhole) copy(to, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if h.dead.Load() {
			n = 0 // the end is discarded, too
		} else if err != nil {
			to.Close()
		}
		if err != nil {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func TestFaultHalfOpenConnection(t *testing.T) {
	for era, o := range eras() {
		t.Run(era, func(t *testing.T) {
			giveBack(t)
			h := newBlackhole(t, launch(t, "http").addr)
			v := &victim{Client: connect(t, mcpclient.URL("http://"+h.Addr().String()+"/mcp"), o)}
			pid := pidOf(t, v.Client, "pid")
			h.dead.Store(true)
			for _, err := range v.hang(t, 3, mcpclient.WithTimeout(time.Second)) {
				if _, lost := errors.AsType[*mcpclient.MayHaveRunError](err); !lost || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want that no answer came in time, and that it may have run", err)
				}
			}
			h.dead.Store(false)
			h.cut()
			if again := pidOf(t, v.Client, "pid"); again != pid {
				t.Errorf("got process %d, want %d, as the way is back", again, pid)
			}
		})
	}
}

// trickle requests some megabytes and reads 50 bytes, with pauses, before it reads the
// rest. It returns the number of bytes.
func trickle(addr string, pause time.Duration) (n int64, err error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(64 << 10)
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big","_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"slow","version":"1"}}}}`
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: big\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	head := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(conn, head); err != nil || string(head) != "HTTP/1.1 200" {
		return 0, fmt.Errorf("got %q, %w, want an answer", head, err)
	}
	for one := make([]byte, 1); n < 50; n++ {
		if _, err := conn.Read(one); err != nil {
			return n, nil
		}
		time.Sleep(pause)
	}
	rest, _ := io.Copy(io.Discard, conn)
	return n + rest, nil
}

func TestFaultTricklingReadersAmongGoodOnes(t *testing.T) { testTrickling(t, 4, false) }

// testTrickling runs slow readers beside good clients. When slow ones are disconnected
// depends on the system's buffers, so it is checked only on an idle machine.
func testTrickling(t *testing.T, readers int, givenUp bool) {
	giveBack(t)
	p := launch(t, "http", "FAULT_TEST_WRITE_TIMEOUT=200ms")
	c := connect(t, mcpclient.URL("http://"+p.addr+"/mcp"), nil)
	var slow sync.WaitGroup
	for range readers {
		slow.Go(func() {
			if n, err := trickle(p.addr, 20*time.Millisecond); err != nil || givenUp && n >= bigText {
				t.Errorf("a slow reader got %d bytes, %v; want it given up before the end: %v", n, err, givenUp)
			}
		})
	}
	ended := make(chan struct{})
	go func() { slow.Wait(); close(ended) }()
	for n := 0; ; n++ {
		word := fmt.Sprint(n)
		if got, err := c.Call[string](t.Context(), "echo", map[string]string{"text": word}); err != nil || got != word {
			t.Fatalf("good client: got %q, %v, want %q", got, err, word)
		}
		select {
		case <-ended:
			return
		default:
		}
	}
}
