package mcpserver_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// newPoller returns a server whose tool closes the stream during a call, where it can.
func newPoller(asked chan<- bool, o *mcpserver.HTTPOptions) *mcpserver.Server {
	srv := newServer(&mcpserver.Options{HTTP: o})
	srv.Tool("poll", "", func(ctx context.Context, _ struct{}) (string, error) {
		mcpserver.Progress(ctx, 1, 3, "before")
		asked <- mcpserver.CloseStream(ctx, 500*time.Millisecond)
		time.Sleep(50 * time.Millisecond)
		mcpserver.Progress(ctx, 2, 3, "meanwhile")
		mcpserver.Progress(ctx, 3, 3, "meanwhile")
		return "done", nil
	})
	return srv
}

func TestCloseStreamEndsTheStreamOfPollingClientsOnly(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-105a", "R-106b", "R-114")
	asked := make(chan bool, 1)
	url := web(t, newPoller(asked, nil))
	for _, v := range revisions[1:] {
		c, err := mcpclient.Connect(t.Context(), mcpclient.URL(url), &mcpclient.Options{Revisions: []mcp.Revision{v}})
		if err != nil {
			t.Fatal(err)
		}
		var got []float64
		result, err := c.CallTool(t.Context(), "poll", nil, mcpclient.WithProgress(func(p mcp.ProgressParams) { got = append(got, p.Progress) }))
		if err != nil || result.Content.Text() != "done" || !slices.Equal(got, []float64{1, 2, 3}) {
			t.Errorf("%v: got %v, %v, %v, want progress 1 2 3", v, result, got, err)
		}
		polls := v == mcp.V20251125
		if hungUp := <-asked; hungUp != polls {
			t.Errorf("%v: hung up: %v, want %v", v, hungUp, polls)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if mcpserver.CloseStream(t.Context(), time.Second) {
		t.Error("hung up outside of a call")
	}
}

// countingStore counts what an EventStore is asked for.
type countingStore struct {
	mu     sync.Mutex
	events map[string][][]byte
	after  atomic.Int32
}

func (s *countingStore) Append(_ context.Context, stream string, n int64, msg []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if int64(len(s.events[stream])) != n-1 {
		return errors.New("a number was left out")
	}
	s.events[stream] = append(s.events[stream], msg)
	return nil
}

func (s *countingStore) After(_ context.Context, stream string, n int64) ([][]byte, error) {
	s.after.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events[stream][n:], nil
}

func (s *countingStore) Trim(_ context.Context, stream string, _ int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.events, stream)
	return nil
}

// progress returns what the server has sent of the progress of calls.
func (s *countingStore) progress(t *testing.T) (all []float64) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, events := range s.events {
		for _, msg := range events {
			if strings.Contains(string(msg), "notifications/progress") {
				all = append(all, decoded[float64](t, jsontext.Value(at(t, jsontext.Value(msg), "/params/progress"))))
			}
		}
	}
	return all
}

// The connection breaks during a call, at a place that neither side chose.
func TestCallSurvivesABrokenConnection(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-109a", "R-114")
	store := &countingStore{events: map[string][][]byte{}}
	srv := newServer(&mcpserver.Options{HTTP: &mcpserver.HTTPOptions{Events: store}})
	broken := make(chan struct{})
	srv.Tool("steps", "", func(ctx context.Context, _ struct{}) (string, error) {
		for n := range 40 {
			mcpserver.Progress(ctx, float64(n+1), 40, strings.Repeat("x", 1000))
			if n == 20 {
				<-broken
			}
		}
		return "done", nil
	})
	var calls atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Name") == "steps" {
			calls.Add(1)
			w = &breaking{ResponseWriter: w, left: 10_000, broken: broken}
		}
		srv.HTTPHandler().ServeHTTP(w, r)
	}))
	defer s.Close()
	defer srv.Shutdown(context.Background())
	c, err := mcpclient.Connect(t.Context(), mcpclient.URL(s.URL), &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}})
	if err != nil {
		t.Fatal(err)
	}
	var got []float64
	result, err := c.CallTool(t.Context(), "steps", nil, mcpclient.WithProgress(func(p mcp.ProgressParams) { got = append(got, p.Progress) }))
	want := store.progress(t)
	if len(want) < 10 {
		t.Errorf("the server sent only %v before the connection broke", want)
	}
	if err != nil || result.Content.Text() != "done" || !slices.Equal(got, want) || calls.Load() != 1 {
		t.Errorf("got %v, %v, %v after %d calls, want %v, each once, of one call", result, got, err, calls.Load(), want)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	store.mu.Lock()
	defer store.mu.Unlock()
	if store.after.Load() == 0 || len(store.events) != 0 {
		t.Errorf("the store was read %d times and keeps %d streams after the session, want some and none", store.after.Load(), len(store.events))
	}
}

// breaking is a connection that breaks after some bytes.
type breaking struct {
	http.ResponseWriter
	left   int
	broken chan struct{}
}

func (w *breaking) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *breaking) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		if conn, _, err := http.NewResponseController(w.ResponseWriter).Hijack(); err == nil {
			conn.Close()
			close(w.broken)
		}
		return 0, errors.New("broken")
	}
	return w.ResponseWriter.Write(p)
}
