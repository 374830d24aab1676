package integration_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// pipeNet is a network in memory with one listener. Its connections need no file
// descriptors, so that there can be many.
type pipeNet struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
}

var _ net.Listener = (*pipeNet)(nil)

func newPipeNet() *pipeNet {
	return &pipeNet{accept: make(chan net.Conn), closed: make(chan struct{})}
}

// Dial returns the client's end of a new connection.
func (n *pipeNet) Dial(ctx context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case n.accept <- theirs:
		return ours, nil
	case <-n.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (n *pipeNet) Accept() (net.Conn, error) {
	select {
	case conn := <-n.accept:
		return conn, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *pipeNet) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

func (n *pipeNet) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

// client returns an HTTP client of what is served on the network.
func (n *pipeNet) client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return n.Dial(ctx) },
	}}
}

// serveWeb serves both HTTP handlers of a server on a network in memory until the
// test ends.
func serveWeb(t *testing.T, s *mcpserver.Server) *pipeNet {
	t.Helper()
	n := newPipeNet()
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.HTTPHandler())
	mux.Handle("/sse", s.EventStreamHandler())
	web := &http.Server{Handler: mux}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(n) }()
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		_ = web.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return n
}
