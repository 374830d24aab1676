package mcpauth_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
)

// refusing returns handlers that let no request through.
func refusing() map[string]http.Handler {
	never := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	unknown := errors.New("unknown")
	verify := func(context.Context, string) (*mcpauth.Token, error) { return nil, unknown }
	return map[string]http.Handler{
		"Protect":      mcpauth.New(identifier, mcpauth.VerifyWith(verify), mcpauth.Logger(slog.New(slog.DiscardHandler))).Protect(never),
		"Authenticate": mcpauth.Authenticate(func(*http.Request) (*mcp.Identity, error) { return nil, unknown })(never),
	}
}

// oneConn is a listener of one connection.
type oneConn struct {
	conn chan net.Conn
	once sync.Once
}

func (l *oneConn) Accept() (net.Conn, error) {
	if c, ok := <-l.conn; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error {
	l.once.Do(func() { close(l.conn) })
	return nil
}

func (*oneConn) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// A client without credentials would otherwise keep its connection by a body that it announces and
// does not send.
func TestRefusalDoesNotWaitForTheBody(t *testing.T) {
	t.Parallel()
	for name, h := range refusing() {
		for _, body := range []string{"Content-Length: 1000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n", "Content-Length: 1000\r\n\r\nbegun"} {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				l := &oneConn{conn: make(chan net.Conn, 1)}
				l.conn <- theirs
				server := &http.Server{Handler: h}
				go server.Serve(l)
				defer server.Close()
				begin := time.Now()
				_ = ours.SetReadDeadline(begin.Add(time.Hour))
				go fmt.Fprint(ours, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer bad\r\n"+body)
				in := bufio.NewReader(ours)
				response, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Fatalf("%s, %q: %v", name, body, err)
				}
				if response.StatusCode != http.StatusUnauthorized || !response.Close || !time.Now().Equal(begin) {
					t.Errorf("%s, %q: got status %d after %v, closes: %v, want 401 before the body, and the connection closed", name, body, response.StatusCode, time.Since(begin), response.Close)
				}
				if _, err := io.Copy(io.Discard, in); err != nil {
					t.Errorf("%s, %q: got %v, want the connection closed", name, body, err)
				}
			})
		}
	}
}

func TestLargeBodyWithBadCredentialsIsAnsweredAndNotReset(t *testing.T) {
	t.Parallel()
	body := strings.Repeat(" ", 200<<10)
	for name, h := range refusing() {
		server := httptest.NewServer(h)
		defer server.Close()
		for range 100 {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer bad")
			response, err := server.Client().Do(r)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			text, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil || response.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(string(text), "auth") {
				t.Errorf("%s: got status %d, %q, %v, want 401 and its reason", name, response.StatusCode, text, err)
			}
			if got := sendThenRead(t, server.Listener.Addr().String(), body); got != http.StatusUnauthorized {
				t.Errorf("%s: got status %d, want 401", name, got)
			}
		}
	}
}

// sendThenRead sends a request to its end before it reads, as simple clients do, and returns the
// status of the response.
func sendThenRead(t *testing.T, addr, body string) int {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer bad\r\nContent-Length: %d\r\n\r\n", len(body)); err != nil {
		t.Fatal(err)
	}
	for rest := body; rest != ""; rest = rest[8<<10:] {
		if _, err := io.WriteString(c, rest[:8<<10]); err != nil {
			t.Fatal(err)
		}
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}
