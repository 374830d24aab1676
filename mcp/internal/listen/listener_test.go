package listen

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

func TestMain(m *testing.M) { leak.Main(m) }

// queue is a net.Listener whose connections are put into a channel.
type queue struct {
	dialed chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newQueue() *queue { return &queue{dialed: make(chan net.Conn), closed: make(chan struct{})} }

func (q *queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.dialed:
		return c, nil
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

func (q *queue) Close() error {
	q.once.Do(func() { close(q.closed) })
	return nil
}

func (q *queue) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// connFrom is a connection whose remote address is chosen.
type connFrom struct {
	net.Conn
	from *net.TCPAddr
}

func (c connFrom) RemoteAddr() net.Addr { return c.from }

// httpServer is an http.Server behind a Listener. Its paths /wait and /stranger answer when the
// request is cancelled; the request of /wait is admitted.
type httpServer struct {
	t        *testing.T
	listener *Listener
	dialed   chan<- net.Conn

	mu       sync.Mutex
	reported []mcp.Limit
}

// serveHTTP starts a server, which ends with the test.
func serveHTTP(t *testing.T, maxConns int, scarce func() bool) *httpServer {
	q := newQueue()
	s := &httpServer{t: t, dialed: q.dialed}
	s.listener = New(q, maxConns, func(l mcp.Limit) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reported = append(s.reported, l)
	}, quiet)
	if scarce != nil {
		s.listener.scarce = scarce
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/admitted", func(_ http.ResponseWriter, r *http.Request) { limit.AdmitConn(r.Context()) })
	mux.HandleFunc("/wait", func(_ http.ResponseWriter, r *http.Request) {
		limit.AdmitConn(r.Context())
		<-r.Context().Done()
	})
	mux.HandleFunc("/stranger", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	server := &http.Server{Handler: mux, ConnState: s.listener.ConnState, ConnContext: s.listener.ConnContext}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(s.listener)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
	return s
}

// dial makes a connection that comes from the address, and waits until the server has
// accepted or closed it.
func (s *httpServer) dial(address string) net.Conn {
	s.t.Helper()
	ours, theirs := net.Pipe()
	s.dialed <- connFrom{theirs, &net.TCPAddr{IP: net.ParseIP(address), Port: 1}}
	synctest.Wait()
	s.t.Cleanup(func() { ours.Close() })
	return ours
}

// wantReported checks the limits that were reported.
func (s *httpServer) wantReported(limit mcp.Limit, times int) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, l := range s.reported {
		if l == limit {
			n++
		}
	}
	if n != times {
		s.t.Errorf("got %v reported, want %s %d times", s.reported, limit, times)
	}
}

// isOpen reports whether the server has not closed a connection.
func isOpen(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
	defer c.SetReadDeadline(time.Time{})
	_, err := c.Read(make([]byte, 1))
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// use makes a request and reports whether it was answered.
func use(c net.Conn) bool { return get(c, "/") }

// admit makes a request that the server lets through, and reports whether it was answered.
func admit(c net.Conn) bool { return get(c, "/admitted") }

func get(c net.Conn, path string) bool {
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
		return false
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, response.Body)
	synctest.Wait()
	return response.StatusCode == http.StatusOK
}

// occupy makes a request that is admitted, and not answered while the connection is open.
func occupy(c net.Conn) { send(c, "/wait") }

// stall is occupy for a request that is not admitted.
func stall(c net.Conn) { send(c, "/stranger") }

func send(c net.Conn, path string) {
	_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
	synctest.Wait()
}

func TestFullListenerClosesTheConnectionThatIsIdleForLongest(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	synctest.Test(t, func(t *testing.T) {
		s := serveHTTP(t, 3, nil)
		first, second, unused := s.dial("127.0.0.1"), s.dial("127.0.0.1"), s.dial("127.0.0.1")
		if !use(second) || !use(first) {
			t.Fatal("want the connections served")
		}
		if newcomer := s.dial("127.0.0.1"); isOpen(unused) || !use(newcomer) {
			t.Error("want the connection closed that was never used, and the new one served")
		}
		if newcomer := s.dial("127.0.0.1"); isOpen(second) || !isOpen(first) || !use(newcomer) {
			t.Error("want the connection closed that is idle for longest, and the new one served")
		}
		s.wantReported(mcp.LimitConnections, 2)
	})
}

func TestFullListenerClosesTheNewConnectionIfAllAreInUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := serveHTTP(t, 2, nil)
		one, other := s.dial("127.0.0.1"), s.dial("127.0.0.1")
		occupy(one)
		occupy(other)
		if late := s.dial("127.0.0.1"); isOpen(late) {
			t.Error("want the new connection closed")
		}
		s.wantReported(mcp.LimitConnections, 1)
		one.Close()
		synctest.Wait()
		if late := s.dial("127.0.0.1"); !use(late) {
			t.Error("want a new connection served when there is room")
		}
	})
}

func TestConnectionsOfOneAddressDoNotExcludeAnother(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	synctest.Test(t, func(t *testing.T) {
		s := serveHTTP(t, 4, nil)
		for range 4 {
			occupy(s.dial("192.0.2.1"))
		}
		other := s.dial("192.0.2.2")
		if !use(other) {
			t.Fatal("want the connection of another address served")
		}
		for range 4 {
			_, _ = fmt.Fprint(s.dial("192.0.2.1"), "GET /")
		}
		if !isOpen(other) || !use(other) {
			t.Error("want the only connection of an address kept")
		}
	})
}

// Many connections that are not admitted exclude nobody who is.
func TestConnectionsThatAreNotAdmittedGoFirst(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	synctest.Test(t, func(t *testing.T) {
		s := serveHTTP(t, 4, nil)
		good := s.dial("127.0.0.1")
		if !admit(good) {
			t.Fatal("want the connection served")
		}
		for range 20 {
			if !use(s.dial("127.0.0.1")) {
				t.Error("want a new connection served")
			}
			time.Sleep(time.Second)
		}
		if !isOpen(good) || !admit(good) {
			t.Error("want the connection kept that was admitted, although it has been idle longest")
		}
	})
}

// A stranger does not keep a place by a request that does not end.
func TestRequestsThatAreNotAdmittedKeepNoConnection(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	synctest.Test(t, func(t *testing.T) {
		s := serveHTTP(t, 4, nil)
		good := s.dial("127.0.0.1")
		occupy(good)
		oldest, other, newest := s.dial("127.0.0.1"), s.dial("127.0.0.1"), s.dial("127.0.0.1")
		stall(oldest)
		stall(other)
		stall(newest)
		newcomer := s.dial("127.0.0.1")
		if isOpen(oldest) || !isOpen(other) || !isOpen(newest) || !isOpen(good) {
			t.Error("want the connection closed whose request is the oldest that was not admitted, and no other one")
		}
		if !admit(newcomer) {
			t.Error("want the new connection served")
		}
	})
}

func TestScarceDescriptorsCloseConnectionsWithoutAnAdmittedRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var scarce atomic.Bool
		s := serveHTTP(t, 10, scarce.Load)
		good, stranger := s.dial("127.0.0.1"), s.dial("127.0.0.1")
		occupy(good)
		stall(stranger)
		scarce.Store(true)
		s.dial("127.0.0.1")
		if isOpen(stranger) || !isOpen(good) {
			t.Error("want the connection closed whose request was not admitted, and the other one kept")
		}
	})
}

// Over HTTP/2 a handler may admit its request after the client has cancelled it.
func TestConnectionThatIsAdmittedLateIsStillIdle(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer ours.Close()
	l, accepted := acceptOne(t, theirs)
	defer accepted.Close()
	for _, state := range []http.ConnState{http.StateNew, http.StateActive, http.StateIdle} {
		l.ConnState(accepted, state)
	}
	limit.AdmitConn(l.ConnContext(t.Context(), accepted))
	if !l.pool.EvictIdle() {
		t.Error("got no connection evicted, want the one without a request")
	}
}

func TestIdleConnectionIsClosedUnlessItIsAdmitted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := serveHTTP(t, 10, nil)
		unused, refused, good, busy := s.dial("127.0.0.1"), s.dial("127.0.0.1"), s.dial("127.0.0.1"), s.dial("127.0.0.1")
		occupy(busy)
		if !admit(good) {
			t.Fatal("want the connection served")
		}
		time.Sleep(admissionTimeout - time.Second)
		if !isOpen(unused) || !use(refused) {
			t.Error("want the connections open for 30 seconds")
		}
		time.Sleep(2 * time.Second)
		if isOpen(unused) || !isOpen(refused) {
			t.Error("want the connection closed that was idle for 30 seconds, and the other one kept for another request")
		}
		time.Sleep(unadmittedIdle)
		if isOpen(refused) || !isOpen(good) || !isOpen(busy) {
			t.Error("want the other one closed soon after its last request, and those in use or admitted kept")
		}
	})
}

func TestOneAddressHasHalfOfTheConnections(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	for _, tt := range []struct {
		address string
		open    int
	}{{"192.0.2.1", 4}, {"127.0.0.1", 8}, {"192.0.2.77", 8}} {
		synctest.Test(t, func(t *testing.T) {
			s := serveHTTP(t, 8, nil)
			s.listener.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.64/26")}
			open := 0
			for range 8 {
				c := s.dial(tt.address)
				occupy(c)
				if isOpen(c) {
					open++
				}
			}
			if open != tt.open {
				t.Errorf("%s: got %d connections in use, want %d", tt.address, open, tt.open)
			}
			if other := s.dial("192.0.2.2"); tt.open < 8 && !use(other) {
				t.Error("want another address served")
			}
		})
	}
}

func TestScarceDescriptorsCloseIdleConnectionsAndDelayNewOnes(t *testing.T) {
	t.Parallel()
	for _, closeBusy := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var scarce atomic.Bool
			s := serveHTTP(t, 10, scarce.Load)
			busy, idle := s.dial("127.0.0.1"), s.dial("127.0.0.1")
			occupy(busy)
			if !use(idle) {
				t.Fatal("want the connection served")
			}
			scarce.Store(true)
			last := s.dial("127.0.0.1")
			if isOpen(idle) || !isOpen(busy) {
				t.Error("want idle connections closed and busy ones kept")
			}
			served := make(chan bool, 1)
			go func() { served <- use(last) }()
			time.Sleep(time.Minute)
			if len(served) > 0 {
				t.Error("got a connection served while descriptors are scarce")
			}
			s.wantReported(mcp.LimitDescriptors, 1)
			scarce.Store(false)
			begin := time.Now()
			if closeBusy {
				busy.Close()
			}
			if !<-served {
				t.Error("want the connection served")
			}
			if took := time.Since(begin); closeBusy && took != 0 || took > descriptorPoll {
				t.Errorf("closed a connection: %v: served after %v, want at once or with the next poll", closeBusy, took)
			}
		})
	}
}

// A connection that has just arrived is the only one without an admitted request.
func TestScarceDescriptorsCloseTheLongestIdleConnectionForANewOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s *httpServer
		s = serveHTTP(t, 10, func() bool {
			open, _ := s.listener.state()
			return open >= 3
		})
		var all []net.Conn
		for range 6 {
			all = append(all, s.dial("127.0.0.1"))
			time.Sleep(time.Second)
			if !admit(all[len(all)-1]) {
				t.Fatal("want each new connection served")
			}
		}
		for i, c := range all {
			if isOpen(c) != (i >= 3) {
				t.Errorf("connection %d: open %v, want the three newest open", i, isOpen(c))
			}
		}
	})
}

func TestCloseEndsAnAcceptThatWaitsForDescriptors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(newQueue(), 1, func(mcp.Limit) {}, quiet)
		l.scarce = func() bool { return true }
		accepted := make(chan error, 1)
		go func() {
			_, err := l.Accept()
			accepted <- err
		}()
		synctest.Wait()
		for range 2 {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := <-accepted; !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v, want %v", err, net.ErrClosed)
		}
	})
}

// acceptOne returns a connection of a new Listener, and its other end.
func acceptOne(t *testing.T, c net.Conn) (*Listener, net.Conn) {
	t.Helper()
	q := newQueue()
	l := New(q, 10, func(mcp.Limit) {}, quiet)
	go func() { q.dialed <- c }()
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return l, accepted
}

func TestWaitUntilUnused(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	for name, test := range map[string]struct {
		end  func(*Listener, net.Conn)
		took time.Duration
		err  error
	}{
		"connection closed": {func(_ *Listener, c net.Conn) { _ = c.Close(); _ = c.Close() }, time.Second, nil},
		"listener closed":   {func(l *Listener, _ net.Conn) { _ = l.Close() }, time.Second, nil},
		"neither":           {func(*Listener, net.Conn) {}, time.Minute, enough},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				defer ours.Close()
				l, accepted := acceptOne(t, theirs)
				time.AfterFunc(time.Second, func() { test.end(l, accepted) })
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, enough)
				defer cancel()
				begin := time.Now()
				if err := l.WaitUntilUnused(ctx); !errors.Is(err, test.err) || time.Since(begin) != test.took {
					t.Errorf("got %v after %v, want %v after %v", err, time.Since(begin), test.err, test.took)
				}
			})
		})
	}
	if err := New(newQueue(), 1, nil, quiet).WaitUntilUnused(t.Context()); err != nil {
		t.Errorf("without a connection: got %v, want nil", err)
	}
}

// secureConn is like a *tls.Conn whose peer does not read: its Close blocks.
type secureConn struct{ net.Conn }

func (c secureConn) NetConn() net.Conn { return c.Conn }
func (c secureConn) Close() error      { select {} }

func TestEvictionDoesNotWaitForTLS(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		l, accepted := acceptOne(t, secureConn{theirs})
		l.ConnState(accepted, http.StateNew)
		if !l.pool.EvictIdle() {
			t.Fatal("got no connection evicted, want one")
		}
		if _, err := ours.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("got %v, want the connection closed below TLS", err)
		}
	})
}

func TestTLSConnectionIsAcceptedAndFreesItsSlot(t *testing.T) {
	t.Parallel()
	for _, last := range []http.ConnState{http.StateClosed, http.StateHijacked} {
		ours, theirs := net.Pipe()
		defer ours.Close()
		secure := tls.Server(theirs, &tls.Config{})
		l, accepted := acceptOne(t, secure)
		if accepted != net.Conn(secure) {
			t.Fatalf("got a %T, want the *tls.Conn, which net/http recognises", accepted)
		}
		l.ConnState(accepted, http.StateNew)
		if open, _ := l.state(); open != 1 || !l.pool.EvictIdle() {
			t.Fatalf("got %d connections, want one that is idle", open)
		}
		for range 2 {
			l.ConnState(accepted, last)
		}
		if open, _ := l.state(); open != 0 || len(l.secure) != 0 {
			t.Errorf("%v: got %d open connections, %d of TLS, want none", last, open, len(l.secure))
		}
	}
}

// halfCloser counts calls of CloseWrite.
type halfCloser struct {
	net.Conn
	closed int
}

func (c *halfCloser) CloseWrite() error {
	c.closed++
	return nil
}

func TestConnectionsCloseTheirSendingSideIfTheyCan(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer ours.Close()
	half := &halfCloser{Conn: theirs}
	for _, c := range []net.Conn{half, theirs} {
		_, accepted := acceptOne(t, c)
		if err := accepted.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Error(err)
		}
	}
	if half.closed != 1 {
		t.Errorf("got CloseWrite called %d times, want once", half.closed)
	}
}

func TestConnStateIgnoresOtherConnections(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	New(newQueue(), 1, nil, quiet).ConnState(theirs, http.StateIdle)
}
