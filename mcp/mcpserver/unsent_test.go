package mcpserver_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// stalledWriter is the http.ResponseWriter of a client that stops reading when it gets a
// large message. A write of that waits for the write deadline, or for the end of the test.
type stalledWriter struct {
	over     <-chan struct{} // closed at the end of the test
	mu       sync.Mutex
	recorder *httptest.ResponseRecorder
	timer    *time.Timer
	expired  chan struct{}
}

func newStalledWriter(t *testing.T) *stalledWriter {
	return &stalledWriter{over: t.Context().Done(), recorder: httptest.NewRecorder(), expired: make(chan struct{})}
}

func (w *stalledWriter) Header() http.Header { return w.recorder.Header() }

func (w *stalledWriter) WriteHeader(status int) { w.recorder.WriteHeader(status) }

func (w *stalledWriter) Flush() {}

func (w *stalledWriter) Write(p []byte) (int, error) {
	if len(p) > 32<<10 {
		select {
		case <-w.expired:
		case <-w.over:
		}
		return 0, os.ErrDeadlineExceeded
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.recorder.Write(p)
}

func (w *stalledWriter) SetWriteDeadline(deadline time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil || w.timer.Stop() {
		w.timer = time.AfterFunc(time.Until(deadline), func() { close(w.expired) })
	}
	return nil
}

// body returns what the client has read.
func (w *stalledWriter) body() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.recorder.Body.String()
}

// callUnread calls a tool whose large result the client does not read.
func (s *sender) callUnread(id int, tool string) {
	go s.sendTo(s.t.Context(), newStalledWriter(s.t), http.MethodPost, callOf(id, tool, ""))
	synctest.Wait()
}

// unreadEventStream opens a connection of HTTP+SSE whose client reads no large results. It
// returns the function that sends a message, and what is closed when the connection ends.
func unreadEventStream(t *testing.T, h http.Handler, address string) (post func(message string), ended <-chan struct{}) {
	over := make(chan struct{})
	w := newStalledWriter(t)
	go func() {
		defer close(over)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/sse", nil)
		r.RemoteAddr = address
		r.Header.Set("Accept", "text/event-stream")
		h.ServeHTTP(w, r)
	}()
	synctest.Wait()
	_, endpoint, _ := strings.Cut(strings.TrimSpace(w.body()), "data: ")
	post = func(message string) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1"+endpoint, strings.NewReader(message))
		r.RemoteAddr = address
		r.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		if h.ServeHTTP(answer, r); answer.Code != http.StatusAccepted {
			t.Errorf("got status %d, %s, want the message taken", answer.Code, answer.Body)
		}
		synctest.Wait()
	}
	post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","clientInfo":{"name":"c","version":"1"},"capabilities":{}}}`)
	return post, over
}

// TestLargeResultsOverAllTransportsCountTogether is about two results of 400 KiB that a
// client of HTTP+SSE does not read, and one over Streamable HTTP, where 1 MiB may be unsent.
func TestLargeResultsOverAllTransportsCountTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var reached []mcp.Limit
		srv := mcpserver.New("test", "1", &mcpserver.Options{
			Load: &mcpserver.LoadOptions{MaxUnsent: 1 << 20},
			HTTP: &mcpserver.HTTPOptions{WriteTimeout: time.Hour},
			OnLimit: func(e mcp.LimitReached) {
				mu.Lock()
				defer mu.Unlock()
				reached = append(reached, e.Limit)
			},
		})
		srv.Tool("large", "", func(context.Context, struct{}) (string, error) { return strings.Repeat("x", 400<<10), nil })
		limits := func() string {
			mu.Lock()
			defer mu.Unlock()
			return fmt.Sprint(reached)
		}
		post, ended := unreadEventStream(t, srv.EventStreamHandler(), "127.0.0.1:1000")
		for id := range 2 {
			post(callOf(1+id, "large", ""))
		}
		if got := limits(); got != "[]" {
			t.Errorf("two results of 400 KiB: got the limits %s reported, want none, because each counts once", got)
		}
		other := &sender{t: t, handler: srv.HTTPHandler(), address: "127.0.0.1:2000"}
		if !other.open() {
			t.Fatal("no session")
		}
		if status, body := other.call(1, "large", ""); status != http.StatusOK || len(body) < 400<<10 {
			t.Errorf("another client: got status %d, %.200s, want the result", status, body)
		}
		select {
		case <-ended:
		case <-time.After(time.Second):
			t.Fatal("the connection of the client that does not read is open, want it ended")
		}
		if got := limits(); got != "[unsent]" {
			t.Errorf("got the limits %s reported, want one, unsent", got)
		}
		if err := srv.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A failure here means that clients with many connections, which they do not read, make the server keep
// small results without a limit of all connections together.
func TestSmallResultsOfConnectionsThatAreNotReadCountTogether(t *testing.T) {
	const most, each = 512 << 10, 20 << 10
	synctest.Test(t, func(t *testing.T) {
		var reached atomic.Int64
		srv := newServer(&mcpserver.Options{
			Logger: slog.New(slog.DiscardHandler),
			Load:   &mcpserver.LoadOptions{MaxUnsent: most},
			OnLimit: func(e mcp.LimitReached) {
				if e.Limit == mcp.LimitUnsent {
					reached.Add(1)
				}
			},
		})
		srv.Tool("small", "", func(context.Context, struct{}) (string, error) { return strings.Repeat("x", each), nil })
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		defer work.Wait()
		defer cancel()
		checkHeap(t, "four connections", most+4*4*exchange.LargeResult, func() {
			for range 4 {
				ours, theirs := memory.Pair()
				work.Go(func() {
					_ = srv.ServeConn(ctx, &deafConn{Conn: theirs, closed: make(chan struct{})}, mcpserver.ConnOptions{})
				})
				if err := ours.Write(ctx, []byte(opening(0))); err != nil {
					t.Fatal(err)
				}
				if _, err := ours.Read(ctx); err != nil {
					t.Fatal(err)
				}
				for id := range 50 { // a megabyte
					if err := ours.Write(ctx, []byte(callOf(2+id, "small", ""))); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
			}
		})
		if reached.Load() == 0 {
			t.Error("no limit was reached")
		}
	})
}

// deafConn is a connection whose client reads one message.
type deafConn struct {
	mcp.Conn
	written atomic.Bool
	once    sync.Once
	closed  chan struct{}
}

func (c *deafConn) Write(ctx context.Context, msg []byte) error {
	if !c.written.Swap(true) {
		return c.Conn.Write(ctx, msg)
	}
	<-c.closed
	return io.ErrClosedPipe
}

func (c *deafConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
