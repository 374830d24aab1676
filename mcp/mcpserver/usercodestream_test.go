package mcpserver_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// faulty is a connection whose method panics, from its nth call on.
type faulty struct {
	net.Conn
	method   string
	left     atomic.Int64 // calls of the method before it panics
	panicked atomic.Bool
}

func newFaulty(c net.Conn, method string, before int) *faulty {
	f := &faulty{Conn: c, method: method}
	f.left.Store(int64(before))
	return f
}

func (f *faulty) called(method string) {
	if method == f.method && f.left.Add(-1) < 0 {
		f.panicked.Store(true)
		panic("lost marbles")
	}
}

func (f *faulty) Read(p []byte) (int, error) {
	f.called("Read")
	return f.Conn.Read(p)
}

func (f *faulty) Write(p []byte) (int, error) {
	f.called("Write")
	return f.Conn.Write(p)
}

func (f *faulty) Close() error {
	defer f.called("Close")
	return f.Conn.Close()
}

func (f *faulty) SetDeadline(t time.Time) error {
	f.called("SetDeadline")
	return f.Conn.SetDeadline(t)
}

func (f *faulty) SetReadDeadline(t time.Time) error {
	f.called("SetReadDeadline")
	return f.Conn.SetReadDeadline(t)
}

func (f *faulty) SetWriteDeadline(t time.Time) error {
	f.called("SetWriteDeadline")
	return f.Conn.SetWriteDeadline(t)
}

func (f *faulty) LocalAddr() net.Addr {
	f.called("LocalAddr")
	return f.Conn.LocalAddr()
}

func (f *faulty) RemoteAddr() net.Addr {
	f.called("RemoteAddr")
	if f.method == "Addr.String" {
		return faultyAddr{f}
	}
	return f.Conn.RemoteAddr()
}

func (f *faulty) CloseWrite() error {
	f.called("CloseWrite")
	return nil
}

type faultyAddr struct{ f *faulty }

func (faultyAddr) Network() string { return "pipe" }

func (a faultyAddr) String() string {
	a.f.called("Addr.String")
	return "pipe"
}

// faultyListener accepts pipes. The first connection is wrapped.
type faultyListener struct {
	*pipes
	wrap         func(net.Conn) net.Conn
	acceptPanics int // of the first calls of Accept
	addrPanics   bool
	nilAddr      bool
	closePanics  bool
}

func (l *faultyListener) Accept() (net.Conn, error) {
	if l.acceptPanics > 0 {
		l.acceptPanics--
		panic("lost marbles")
	}
	c, err := l.pipes.Accept()
	if wrap := l.wrap; err == nil && wrap != nil {
		l.wrap = nil
		c = wrap(c)
	}
	return c, err
}

func (l *faultyListener) Addr() net.Addr {
	if l.addrPanics {
		panic("lost marbles")
	}
	if l.nilAddr {
		return nil
	}
	return l.pipes.Addr()
}

func (l *faultyListener) Close() error {
	err := l.pipes.Close()
	if l.closePanics {
		panic("lost marbles")
	}
	return err
}

func wantPanicLogged(t *testing.T, log string, method string) {
	t.Helper()
	if !strings.Contains(log, "panicked") || !strings.Contains(log, "lost marbles") || !strings.Contains(log, "goroutine ") || !strings.Contains(log, "method="+method) {
		t.Errorf("got the log %s, want the panic of %s and its stack", log, method)
	}
}

// Two clients connect, and the connection of the first one is faulty.
func TestPanicOfAConnectionOfASocketEndsNothingElse(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"Read", "Write", "Close", "SetReadDeadline", "SetWriteDeadline", "RemoteAddr"} {
		for before := range 3 {
			if method == "Close" && before > 0 || method == "RemoteAddr" && before > 0 {
				continue // called once
			}
			t.Run(fmt.Sprint(method, " ", before), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var log logbook
					srv := newServer(&mcpserver.Options{Logger: textLog(&log)})
					srv.Tool("quick", "", func(context.Context, struct{}) (string, error) { return "done", nil })
					var conn *faulty
					l := &faultyListener{pipes: newPipes(), wrap: func(c net.Conn) net.Conn {
						conn = newFaulty(c, method, before)
						return conn
					}}
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					served := make(chan error, 1)
					go func() { served <- srv.ServeSocket(ctx, l) }()
					connect := func() (*mcpclient.Client, error) {
						stream, err := l.dial(ctx, "", "")
						if err != nil {
							t.Fatal(err)
						}
						return mcpclient.Connect(ctx, mcpclient.Stream(stream), &mcpclient.Options{Logger: textLog(new(logbook))})
					}
					first, err := connect()
					if err == nil {
						defer first.Close()
						for range 3 {
							_, _ = first.CallTool(ctx, "quick", nil)
						}
					}
					second, err := connect()
					if err != nil {
						t.Fatal(err)
					}
					defer second.Close()
					if _, err := second.CallTool(ctx, "quick", nil); err != nil {
						t.Errorf("the other client: %v", err)
					}
					cancel()
					if err := <-served; err != nil {
						t.Errorf("got %v, want nil", err)
					}
					synctest.Wait() // deadlines are also set on goroutines of contexts that end
					if !conn.panicked.Load() {
						t.Fatalf("%s did not panic", method)
					}
					wantPanicLogged(t, log.String(), method)
				})
			})
		}
	}
}

// A stream without deadlines is read on a goroutine of its own.
func TestPanicOfAStreamIsTheErrorOfItsConnection(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"Read", "Write", "Close", "SetReadDeadline", "SetWriteDeadline"} {
		for _, deadlines := range []bool{false, true} {
			if !deadlines && strings.HasPrefix(method, "Set") {
				continue
			}
			t.Run(fmt.Sprint(method, " ", deadlines), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var log logbook
					srv := newServer(&mcpserver.Options{Logger: textLog(&log)})
					ours, theirs := net.Pipe()
					conn := newFaulty(theirs, method, 0)
					var stream io.ReadWriteCloser = conn
					if !deadlines {
						stream = struct{ io.ReadWriteCloser }{conn}
					}
					served := make(chan error, 1)
					go func() { served <- srv.ServeStream(t.Context(), stream) }()
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					c, err := mcpclient.Connect(ctx, mcpclient.Stream(ours), &mcpclient.Options{Logger: textLog(new(logbook))})
					if (err == nil) != (method == "Close") {
						t.Errorf("connect: got %v, want an error unless Close panics", err)
					}
					if err == nil {
						_ = c.Close()
					}
					err = <-served
					if want := "panic: lost marbles"; method != "Close" && (err == nil || !strings.Contains(err.Error(), want)) {
						t.Errorf("got %v, want an error with %q", err, want)
					}
					synctest.Wait()
					wantPanicLogged(t, log.String(), method)
				})
			})
		}
	}
}

func TestStreamThatMiscountsIsTheErrorOfItsConnection(t *testing.T) {
	t.Parallel()
	for _, n := range []int{-1, 1 << 30} {
		srv := newServer(nil)
		if err := srv.ServeStream(t.Context(), miscounting(n)); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("Read returned %d bytes", n)) {
			t.Errorf("got %v, want the count %d in an error", err, n)
		}
	}
}

type miscounting int

func (n miscounting) Read([]byte) (int, error)  { return int(n), nil }
func (n miscounting) Write([]byte) (int, error) { return int(n), nil }
func (miscounting) Close() error                { return nil }

func TestPanicOfAConnectionOverHTTPEndsNothingElse(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"Read", "Write", "Close", "SetReadDeadline", "LocalAddr", "RemoteAddr", "Addr.String"} {
		for before := range 3 {
			if (method == "Close" || strings.Contains(method, "Addr")) && before > 0 {
				continue // called once
			}
			t.Run(fmt.Sprint(method, " ", before), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var log logbook
					srv := newServer(&mcpserver.Options{Logger: textLog(&log)})
					var conn *faulty
					l := &faultyListener{pipes: newPipes(), wrap: func(c net.Conn) net.Conn {
						conn = newFaulty(c, method, before)
						return conn
					}}
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					served := make(chan error, 1)
					go func() {
						served <- srv.ServeListener(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") }))
					}()
					get := func(c *http.Client) error {
						ctx, cancel := context.WithTimeout(ctx, time.Minute)
						defer cancel()
						r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1/", nil)
						if err != nil {
							return err
						}
						response, err := c.Do(r)
						if err == nil {
							_, err = io.ReadAll(response.Body)
							response.Body.Close()
						}
						return err
					}
					first, second := l.client(t), l.client(t)
					for range 3 {
						_ = get(first)
					}
					if err := get(second); err != nil {
						t.Errorf("the other client: %v", err)
					}
					cancel()
					if err := <-served; err != nil {
						t.Errorf("got %v, want nil", err)
					}
					synctest.Wait() // deadlines are also set on goroutines of contexts that end
					if !conn.panicked.Load() {
						t.Fatalf("%s did not panic", method)
					}
					wantPanicLogged(t, log.String(), strings.Replace(method, "Addr.String", "RemoteAddr", 1))
				})
			})
		}
	}
}

// Accept is called again after a panic, unless it goes on.
func TestPanicOfAListenerEndsNoConnection(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(*mcpserver.Server, context.Context, net.Listener) error{
		"socket": func(srv *mcpserver.Server, ctx context.Context, l net.Listener) error { return srv.ServeSocket(ctx, l) },
		"HTTP": func(srv *mcpserver.Server, ctx context.Context, l net.Listener) error {
			return srv.ServeListener(ctx, l, http.NotFoundHandler())
		},
	} {
		for _, tt := range []struct {
			method   string
			listener faultyListener
			want     string // in the error of serve; empty for none
		}{
			{"Accept", faultyListener{acceptPanics: 3}, ""},
			{"Accept", faultyListener{acceptPanics: 1000}, "panic: lost marbles"},
			{"Addr", faultyListener{acceptPanics: 1000, addrPanics: true}, "serve unknown: panic: lost marbles"},
			{"Accept", faultyListener{acceptPanics: 1000, nilAddr: true}, "serve unknown: panic: lost marbles"},
			{"Close", faultyListener{closePanics: true}, ""},
		} {
			t.Run(fmt.Sprint(name, " ", tt.method, " ", tt.want), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var log logbook
					srv := newServer(&mcpserver.Options{Logger: textLog(&log)})
					l := tt.listener
					l.pipes = newPipes()
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					served := make(chan error, 1)
					go func() { served <- serve(srv, ctx, &l) }()
					if tt.want == "" {
						conn, err := l.dial(ctx, "", "")
						if err != nil {
							t.Fatal(err)
						}
						synctest.Wait()
						conn.Close()
						cancel()
					}
					err := <-served
					if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
						t.Errorf("got %v, want %q", err, tt.want)
					}
					synctest.Wait()
					wantPanicLogged(t, log.String(), tt.method)
				})
			})
		}
	}
}
