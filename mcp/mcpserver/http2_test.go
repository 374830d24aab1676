package mcpserver_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Types and flags of HTTP/2 frames.
//
// Spec: RFC 9113 6
const (
	frameHeaders      = 1
	frameReset        = 3
	frameSettings     = 4
	frameGoAway       = 7
	frameContinuation = 9

	flagEndStream  = 1
	flagEndHeaders = 4
)

func http2Frame(kind, flags byte, stream uint32, payload []byte) []byte {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

// http2Get is the header block of a GET: indexed fields, and two literals that are not indexed.
func http2Get(path string) []byte {
	block := []byte{0x82, 0x87, 0x04, byte(len(path))}
	block = append(block, path...)
	return append(append(block, 0x01, byte(len("localhost"))), "localhost"...)
}

// serveTLS serves a handler with HTTP/2 on loopback, and returns a connection that has sent
// the preface.
func serveTLS(t *testing.T, h http.Handler) net.Conn {
	t.Helper()
	source := httptest.NewUnstartedServer(nil)
	source.StartTLS()
	t.Cleanup(source.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := newServer(&mcpserver.Options{HTTP: &mcpserver.HTTPOptions{LameDuck: time.Millisecond}, Logger: slog.New(slog.DiscardHandler)})
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- srv.ServeListener(ctx, tls.NewListener(l, &tls.Config{Certificates: source.TLS.Certificates, NextProtos: []string{"h2"}}), h)
	}()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
	conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}) // the certificate of httptest
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(3 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), http2Frame(frameSettings, 0, 0, nil)...)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// awaitGoAway reads frames until the server refuses the connection, and returns its error code.
func awaitGoAway(conn net.Conn) (code uint32, err error) {
	for {
		head := make([]byte, 9)
		if _, err := io.ReadFull(conn, head); err != nil {
			return 0, err
		}
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(conn, payload); err != nil {
			return 0, err
		}
		if head[3] == frameGoAway {
			return binary.BigEndian.Uint32(payload[4:]), nil
		}
	}
}

func TestRapidResetsEndTheConnection(t *testing.T) {
	t.Parallel()
	var running, most, started atomic.Int64
	release := make(chan struct{})
	conn := serveTLS(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		started.Add(1)
		for n := running.Add(1); ; {
			if was := most.Load(); n <= was || most.CompareAndSwap(was, n) {
				break
			}
		}
		<-release // a handler that does not notice the end of its request
		running.Add(-1)
	}))
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for stream := uint32(1); stream < 100_000; stream += 2 {
			frames := http2Frame(frameHeaders, flagEndHeaders|flagEndStream, stream, http2Get("/slow"))
			frames = append(frames, http2Frame(frameReset, 0, stream, []byte{0, 0, 0, 8})...)
			if _, err := conn.Write(frames); err != nil {
				return
			}
		}
	}()
	const enhanceYourCalm = 11
	if code, err := awaitGoAway(conn); err == nil && code != enhanceYourCalm {
		t.Errorf("got GOAWAY with code %d, want %d", code, enhanceYourCalm)
	} else if errors.Is(err, context.DeadlineExceeded) {
		t.Error("want the connection ended")
	}
	conn.Close()
	<-sent
	if most.Load() > 250 {
		t.Errorf("got %d handlers at once, want at most 250", most.Load())
	}
	close(release)
	if started.Load() > 2000 {
		t.Errorf("got %d handlers started, want the connection ended before", started.Load())
	}
}

func TestEndlessHeadersOverHTTP2EndTheConnection(t *testing.T) {
	t.Parallel()
	var handled atomic.Int64
	conn := serveTLS(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { handled.Add(1) }))
	go func() {
		field := append([]byte{0x00, 1, 'x', 100}, strings.Repeat("y", 100)...) // a literal without indexing
		block := strings.Repeat(string(field), 100)
		if _, err := conn.Write(http2Frame(frameHeaders, flagEndStream, 1, http2Get("/"))); err != nil {
			return
		}
		for range 10_000 { // 100 MB
			if _, err := conn.Write(http2Frame(frameContinuation, 0, 1, []byte(block))); err != nil {
				return
			}
		}
	}()
	if code, err := awaitGoAway(conn); err == nil && code == 0 {
		t.Errorf("got GOAWAY with code %d, want an error", code)
	} else if errors.Is(err, context.DeadlineExceeded) {
		t.Error("want the connection ended")
	}
	if handled.Load() > 0 {
		t.Error("got the request handled, want it refused")
	}
}

func TestHeaderFieldsAreCountedForEveryRoute(t *testing.T) {
	t.Parallel()
	p := newPipes()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		srv := newServer(&mcpserver.Options{HTTP: &mcpserver.HTTPOptions{LameDuck: time.Millisecond}})
		served <- srv.ServeListener(ctx, p, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "own page") }))
	}()
	defer func() { stop(); <-served }()
	for n, want := range map[int]int{90: http.StatusOK, 110: http.StatusRequestHeaderFieldsTooLarge} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/own", nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			r.Header.Add(fmt.Sprint("X-", i%7), "1")
		}
		response, err := p.client(t).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%d fields: got status %d, want %d", n, response.StatusCode, want)
		}
	}
}

func TestPeersCannotFillTheLogOfTheServer(t *testing.T) {
	t.Parallel()
	var logged strings.Builder
	var mu sync.Mutex
	p := newPipes()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	source := httptest.NewUnstartedServer(nil)
	source.StartTLS()
	defer source.Close()
	go func() {
		srv := newServer(&mcpserver.Options{
			HTTP:   &mcpserver.HTTPOptions{LameDuck: time.Millisecond},
			Logger: slog.New(slog.NewTextHandler(&lockedWriter{&mu, &logged}, nil)),
		})
		served <- srv.ServeListener(ctx, tls.NewListener(p, &tls.Config{Certificates: source.TLS.Certificates}), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("of a route") }))
	}()
	for range 10 { // no TLS
		conn, err := p.dial(ctx, "", "")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, "GET / HTTP/1.1\r\n\r\n")
		_, _ = io.ReadAll(conn)
		conn.Close()
	}
	roots := x509.NewCertPool()
	roots.AddCert(source.Certificate())
	client := &http.Client{Transport: &http.Transport{DialContext: p.dial, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "example.com"}}}
	if _, err := client.Get("https://example.com/"); err == nil {
		t.Error("want the response of a handler that panics aborted")
	}
	stop()
	<-served
	mu.Lock()
	defer mu.Unlock()
	if text := logged.String(); strings.Contains(text, "handshake") || !strings.Contains(text, "level=ERROR") || !strings.Contains(text, "of a route") {
		t.Errorf("got the log %q, want the panic of the route alone", text)
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}
