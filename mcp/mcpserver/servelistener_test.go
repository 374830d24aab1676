package mcpserver_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// pipes is a listener whose connections are pipes in memory.
type pipes struct {
	dialled chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func newPipes() *pipes { return &pipes{dialled: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.dialled <- theirs:
		return ours, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.dialled:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// client returns an HTTP client with connections of its own, which it closes at
// the end of the test.
func (p *pipes) client(t *testing.T) *http.Client {
	transport := &http.Transport{DialContext: p.dial}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func routes(srv *mcpserver.Server) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", srv.HTTPHandler())
	mux.Handle("/sse", srv.EventStreamHandler())
	mux.Handle("/readyz", srv.ReadyHandler())
	return mux
}

// serveListener serves until stop is called, which returns the channel of the result.
func serveListener(t *testing.T, srv *mcpserver.Server) (p *pipes, stop func() <-chan error) {
	return serveHandler(t, srv, routes(srv))
}

// serveHandler is serveListener for a handler.
func serveHandler(t *testing.T, srv *mcpserver.Server, h http.Handler) (p *pipes, stop func() <-chan error) {
	p = newPipes()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- srv.ServeListener(ctx, p, h) }()
	return p, func() <-chan error {
		cancel()
		synctest.Wait()
		return ended
	}
}

// get returns the status of a GET, and whether the connection is closed behind it.
func get(t *testing.T, c *http.Client, path string) (status int, closes bool) {
	t.Helper()
	response, err := c.Get("http://localhost" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode, response.Close
}

func TestLameDuckServesOnAndClosesConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := sleeper()
		p, stop := serveListener(t, srv)
		balancer := p.client(t)
		if status, closes := get(t, balancer, "/readyz"); status != 200 || closes {
			t.Errorf("before the end: got %d, closed %v, want 200 and the connection kept", status, closes)
		}
		c, err := mcpclient.Connect(t.Context(), mcpclient.URL("http://localhost/mcp"), &mcpclient.Options{HTTP: mcpclient.HTTPOptions{Client: p.client(t)}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		begun := time.Now()
		ended := stop()
		if status, closes := get(t, balancer, "/readyz"); status != 503 || !closes {
			t.Errorf("lame duck: got %d, closed %v, want 503 and the connection closed", status, closes)
		}
		if _, err := c.CallTool(t.Context(), "sleep", nil); err != nil {
			t.Errorf("lame duck: %v, want it served", err)
		}
		late := make(chan error, 1)
		go func() {
			time.Sleep(900 * time.Millisecond)
			_, err := c.CallTool(t.Context(), "sleep", nil) // and this takes a second
			late <- err
		}()
		if err := <-ended; err != nil {
			t.Errorf("got %v, want an orderly end", err)
		}
		if took := time.Since(begun); took < 2*time.Second || took > 5*time.Second {
			t.Errorf("ended after %v, want two seconds and what ran", took)
		}
		if err := <-late; err != nil {
			t.Errorf("a call that ran at the end of the lame duck: %v", err)
		}
	})
}

// A load balancer may have opened a connection before the server closed its listener.
func TestRequestOverAConnectionThatWasAcceptedLastIsServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, stop := serveListener(t, sleeper())
		get(t, p.client(t), "/readyz") // so that the lame duck lasts two seconds
		ended := stop()
		time.Sleep(2*time.Second - time.Millisecond)
		conn, err := p.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		time.Sleep(100 * time.Millisecond)
		if _, err := p.dial(t.Context(), "", ""); err == nil {
			t.Error("got another connection, want the listener closed")
		}
		go fmt.Fprint(conn, "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("got %v, want a response", err)
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusServiceUnavailable || !response.Close {
			t.Errorf("got %s, closed %v, want that of a server that drains", response.Status, response.Close)
		}
		if err := <-ended; err != nil {
			t.Errorf("got %v, want an orderly end", err)
		}
	})
}

func TestLameDuckEndsWhenNoConnectionIsOpen(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path  string
		after time.Duration
	}{
		"no connection was made": {"", 0},
		"a client is connected":  {"/sse-nothing", 2 * time.Second},
		"a balancer has asked":   {"/readyz", 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, stop := serveListener(t, sleeper())
				if test.path != "" {
					get(t, p.client(t), test.path)
				}
				begun := time.Now()
				if err := <-stop(); err != nil {
					t.Error(err)
				}
				if took := time.Since(begun); took < test.after || took > test.after+time.Second {
					t.Errorf("ended after %v, want %v", took, test.after)
				}
			})
		})
	}
}

// http.Server.Shutdown waits for every request, and streams last.
func TestShutdownOfAForeignHTTPServerReturns(t *testing.T) {
	t.Parallel()
	for name, revision := range map[string]mcp.Revision{"session": mcp.V20251125, "stateless": mcp.V20260728, "HTTP+SSE": mcp.V20241105} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := sleeper()
				p := newPipes()
				web := &http.Server{Handler: routes(srv)}
				ended := make(chan error, 1)
				go func() { ended <- web.Serve(p) }()
				target := mcpclient.URL("http://localhost/mcp")
				if revision == mcp.V20241105 {
					target = mcpclient.EventStream("http://localhost/sse")
				}
				c, err := mcpclient.Connect(t.Context(), target, &mcpclient.Options{
					Revisions: []mcp.Revision{revision}, HTTP: mcpclient.HTTPOptions{Client: p.client(t)}, NoRestart: true,
					OnToolsChanged: func(context.Context, *mcpclient.Client) {}, // opens a subscription
				})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				running := make(chan error, 1)
				go func() {
					_, err := c.CallTool(t.Context(), "sleep", nil)
					running <- err
				}()
				synctest.Wait()
				begun := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				if err := web.Shutdown(ctx); err != nil || time.Since(begun) > 3*time.Second {
					t.Errorf("shutdown: %v after %v", err, time.Since(begun))
				}
				if err := <-running; err != nil {
					t.Errorf("the running call: %v", err)
				}
				<-ended
				if err := srv.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestReadinessNeedsANameOfTheServerOrAnAddress(t *testing.T) {
	t.Parallel()
	h := newServer(nil).ReadyHandler()
	for host, want := range map[string]int{"localhost": 200, "127.0.0.1:80": 200, "10.1.2.3:8080": 200, "[fd00::1]:80": 200, "evil.example": 403, "": 403} {
		w := &recorder{header: make(http.Header)}
		r, _ := http.NewRequest(http.MethodGet, "/readyz", nil)
		r.Host = host
		if h.ServeHTTP(w, r); w.status() != want {
			t.Errorf("host %q: got %d, want %d", host, w.status(), want)
		}
	}
}

// recorder keeps the status of a response.
type recorder struct {
	header http.Header
	code   int
}

func (w *recorder) Header() http.Header         { return w.header }
func (w *recorder) WriteHeader(code int)        { w.code = code }
func (w *recorder) Write(p []byte) (int, error) { return len(p), nil }
func (w *recorder) status() int                 { return max(w.code, 200) }

// S-037. A failure here means that a client whose headers are too long finds its
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
	if err := conn.SetDeadline(time.Now().Add(3 * time.Minute)); err != nil {
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

func TestServeListenerBoundsItsConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told limitsTold
		p, stop := serveListener(t, mcpserver.New("s", "1", &mcpserver.Options{
			HTTP: &mcpserver.HTTPOptions{MaxConns: 1, LameDuck: -1}, Logger: textLog(new(logbook)), OnLimit: told.hear,
		}))
		for range 2 { // each leaves an idle connection, and the second replaces the first
			if status, _ := get(t, p.client(t), "/readyz"); status != 200 {
				t.Errorf("got %d, want 200", status)
			}
			synctest.Wait()
		}
		if n := told.of(mcp.LimitConnections); n != 1 {
			t.Errorf("%s was reported %d times, want once", mcp.LimitConnections, n)
		}
		<-stop()
	})
}

// What h answers without reading the body would otherwise wait for it without a limit.
func TestServeListenerDoesNotWaitLongForABodyThatNobodyReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, stop := serveListener(t, sleeper())
		c, err := p.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(time.Hour))
		fmt.Fprint(c, "POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
		in := bufio.NewReader(c)
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, in); err != nil || response.StatusCode != http.StatusNotFound {
			t.Errorf("got status %d, then %v, want 404 and the connection closed", response.StatusCode, err)
		}
		<-stop()
	})
}
