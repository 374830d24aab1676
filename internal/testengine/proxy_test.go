package testengine_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/testengine"
)

// quiet is how long a test waits to see that nothing arrives.
const quiet = 50 * time.Millisecond

// echo returns the address of a server that sends back what it gets.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		work.Wait()
	})
	return l.Addr().String()
}

// dial connects to the proxy.
func dial(t *testing.T, p *testengine.Proxy) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// roundTrip sends a message and expects it back.
func roundTrip(conn net.Conn, msg []byte) error {
	sent := make(chan error, 1)
	go func() {
		_, err := conn.Write(msg)
		sent <- err
	}()
	got := make([]byte, len(msg))
	_, err := io.ReadFull(conn, got)
	if sendErr := <-sent; err == nil {
		err = sendErr
	}
	if err == nil && !bytes.Equal(got, msg) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func TestProxyForwardsBothDirections(t *testing.T) {
	t.Parallel()
	p := testengine.NewProxy(t, echo(t))
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	for range 2 {
		if err := roundTrip(dial(t, p), large); err != nil {
			t.Error(err)
		}
	}
}

func TestCutEndsPresentConnections(t *testing.T) {
	t.Parallel()
	p := testengine.NewProxy(t, echo(t))
	conn := dial(t, p)
	if err := roundTrip(conn, []byte("a")); err != nil {
		t.Fatal(err)
	}
	p.Cut()
	if _, err := io.ReadAll(conn); err == nil {
		t.Error("got the end of the stream, want a reset connection")
	}
	if err := roundTrip(dial(t, p), []byte("a")); err != nil {
		t.Errorf("a connection after Cut: %v", err)
	}
}

func TestBlockedBytesArriveAfterUnblock(t *testing.T) {
	t.Parallel()
	p := testengine.NewProxy(t, echo(t))
	old := dial(t, p)
	if err := roundTrip(old, []byte("a")); err != nil {
		t.Fatal(err)
	}
	p.Block()
	p.Block()
	for _, conn := range []net.Conn{old, dial(t, p)} {
		if _, err := conn.Write([]byte("b")); err != nil {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(quiet))
		if n, err := conn.Read(make([]byte, 1)); !os.IsTimeout(err) {
			t.Errorf("while blocked: got %d bytes, %v, want none", n, err)
		}
		_ = conn.SetReadDeadline(time.Time{})
		defer func() {
			if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
				t.Errorf("after Unblock: %v", err)
			}
		}()
	}
	p.Unblock()
	p.Unblock()
}

func TestCutEndsBlockedConnections(t *testing.T) {
	t.Parallel()
	p := testengine.NewProxy(t, echo(t))
	conn := dial(t, p)
	if err := roundTrip(conn, []byte("a")); err != nil {
		t.Fatal(err)
	}
	p.Block()
	if _, err := conn.Write([]byte("b")); err != nil {
		t.Fatal(err)
	}
	p.Cut()
	if got, err := io.ReadAll(conn); err == nil {
		t.Errorf("got %q, want a reset connection", got)
	}
}

func TestRefusedConnectionsAreReset(t *testing.T) {
	t.Parallel()
	p := testengine.NewProxy(t, echo(t))
	present := dial(t, p)
	if err := roundTrip(present, []byte("a")); err != nil {
		t.Fatal(err)
	}
	p.Refuse()
	if got, err := read(t, p.Addr()); err == nil { // the reset may come before the end of the dial
		t.Errorf("got %q, want a reset connection", got)
	}
	if err := roundTrip(present, []byte("a")); err != nil {
		t.Errorf("a present connection: %v", err)
	}
	p.Accept()
	if err := roundTrip(dial(t, p), []byte("a")); err != nil {
		t.Errorf("a connection after Accept: %v", err)
	}
}

func TestLastBytesOfTheServerArrive(t *testing.T) {
	t.Parallel()
	s := testengine.Run(t, starts)
	for range 20 {
		if got, err := read(t, s.Proxy.Addr()); err != nil || got != "|" {
			t.Fatalf("got %q, %v, want what the server sent before it closed", got, err)
		}
	}
}
