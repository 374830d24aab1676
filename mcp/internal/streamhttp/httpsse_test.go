package streamhttp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

// serveEventStream serves HTTP+SSE at /base/sse of a real server.
func serveEventStream(t *testing.T, core *testCore, o *Options) *testServer {
	t.Helper()
	h := NewSSEHandler(core, o)
	mux := http.NewServeMux()
	mux.Handle("/base/", http.StripPrefix("/base", h))
	s := &testServer{Server: httptest.NewServer(judged(t, core, byToken(mux))), t: t, core: core}
	s.url = s.URL + "/base/sse"
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		s.Server.Close()
	})
	return s
}

// connect opens an event stream and returns it with a server whose URL is the
// address for POST.
func (s *testServer) connect(headers ...string) (*openAnswer, *testServer) {
	s.t.Helper()
	stream := s.start("GET", "", append([]string{httpheader.Accept, httpheader.TypeEventStream}, headers...)...)
	endpoint, ok := strings.CutPrefix(stream.event(), "event: endpoint\ndata: ")
	if !ok {
		s.t.Fatalf("got status %d, event %q, want the endpoint", stream.resp.StatusCode, endpoint)
	}
	sw, err := stream.resp.Request.URL.Parse(strings.TrimSpace(endpoint))
	if err != nil {
		s.t.Fatal(err)
	}
	return stream, &testServer{Server: s.Server, t: s.t, core: s.core, url: sw.String()}
}

func TestEventStreamFromEndToEnd(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-089", "R-090", "R-091")
	s := serveEventStream(t, newTestCore(plainTools), nil)
	stream, there := s.connect()
	if !regexp.MustCompile(`^http://[^/]+/base/sse\?sessionId=[A-Z2-7]{26}$`).MatchString(there.url) {
		t.Errorf("got the endpoint %s, want the same path and an id of 130 bits", there.url)
	}
	if got := stream.resp.Header.Get(httpheader.ContentType); got != httpheader.TypeEventStream {
		t.Errorf("got type %q, want an event stream", got)
	}
	old := strings.Replace(initialize, "2025-11-25", "2024-11-05", 1)
	for _, tt := range []struct {
		send string
		want []string
	}{
		{old, []string{`"protocolVersion":"2024-11-05"`}},
		{initialized, nil},
		{old, []string{"initialized already"}},
		{callTool(1, "talk"), []string{noteA, noteB, "said"}},
		{callTool(2, "hello"), []string{"hello"}},
		{`{`, []string{"-32700"}},
		{modernCall("hello"), []string{"-32022"}},
	} {
		if a := there.post(tt.send, httpheader.Accept, ""); a.status != 202 || a.body != "" {
			t.Fatalf("%s: got status %d, body %q, want 202 and none", tt.send, a.status, a.body)
		}
		for _, want := range tt.want {
			if got := stream.event(); !strings.HasPrefix(got, "event: message\ndata: ") || !strings.Contains(got, want) {
				t.Errorf("%s: got %q, want %q", tt.send, got, want)
			}
		}
	}
	stream.close()
	eventually(t, "the connection is gone", func() bool { return there.post(ping).status == 404 })
	eventually(t, "the core was told of one connection and its end", s.core.sawOneEnd)
}

func TestEndOfTheEventStreamCancelsItsCalls(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	s := serveEventStream(t, newTestCore(map[string]tool{"wait": func(ctx context.Context, _ *exchange.Inbound) (any, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}}), nil)
	stream, there := s.connect()
	there.post(initialize)
	stream.event()
	there.post(callTool(1, "wait"))
	eventually(t, "the call runs", func() bool { return s.core.session().Running.Len() == 1 })
	stream.close()
	if err := <-ended; err == nil {
		t.Error("the call was not cancelled")
	}
}

// A15.
func TestEventStreamOfAnotherPrincipalIsNotFound(t *testing.T) {
	t.Parallel()
	s := serveEventStream(t, newTestCore(plainTools), &Options{PrincipalStreams: 1})
	stream, there := s.connect(httpheader.Authorization, "A")
	foreign := there.post(initialize, httpheader.Authorization, "B")
	unknown := s.post(initialize, httpheader.Authorization, "B")
	if foreign.status != 404 || unknown.status != 404 || foreign.body != unknown.body {
		t.Errorf("got status %d, body %s, want 404 and %s", foreign.status, foreign.body, unknown.body)
	}
	if a := s.do("GET", "", httpheader.Accept, httpheader.TypeEventStream, httpheader.Authorization, "A"); a.status != 429 {
		t.Errorf("a second stream: got status %d, want 429", a.status)
	}
	there.post(initialize, httpheader.Authorization, "A")
	if got := stream.event(); !strings.Contains(got, "protocolVersion") {
		t.Errorf("the owner: got %q, want the reply", got)
	}
}

func TestEventStreamRefusals(t *testing.T) {
	t.Parallel()
	s := serveEventStream(t, newTestCore(plainTools), nil)
	for _, tt := range []struct {
		name   string
		method string
		header []string
		status int
	}{
		{"DELETE", "DELETE", nil, 405},
		{"GET of JSON", "GET", []string{httpheader.Accept, httpheader.TypeJSON}, 406},
		{"GET of a page", "GET", []string{httpheader.Accept, "text/html"}, 406},
		{"POST of text", "POST", []string{httpheader.ContentType, "", httpheader.ContentType, "text/plain"}, 415},
		{"POST to nobody", "POST", nil, 404},
	} {
		a := s.do(tt.method, ping, tt.header...)
		if a.status != tt.status {
			t.Errorf("%s: got status %d, want %d", tt.name, a.status, tt.status)
		}
		if tt.status == 405 && a.header.Get(httpheader.Allow) != eventStreamMethods {
			t.Errorf("%s: got allow %q, want %q", tt.name, a.header.Get(httpheader.Allow), eventStreamMethods)
		}
	}
}

func TestEndpointCannotNameAnotherHost(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"/sse":                   "/sse?sessionId=ID",
		"/sse?sessionId=other":   "/sse?sessionId=ID",
		"//evil.example/sse":     "/evil.example/sse?sessionId=ID",
		"/a%2Fb/s%0Ase":          "/a%2Fb/s%0Ase?sessionId=ID",
		"http://evil.example/x/": "/x/?sessionId=ID",
	} {
		r := httptest.NewRequest("GET", "http://localhost/", nil)
		r.RequestURI = uri
		if got := endpoint(r, "ID"); got != want {
			t.Errorf("%s: got %q, want %q", uri, got, want)
		}
	}
}

func TestEventStreamIsKeptAliveAndEndsWithTheHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		core := newTestCore(nil)
		e := NewSSEHandler(core, nil)
		served := make(chan *httptest.ResponseRecorder, 1)
		go func() {
			served <- serveRecorded(e, request(t.Context(), t, "GET", "http://localhost/sse", "", httpheader.Accept, httpheader.TypeEventStream))
		}()
		time.Sleep(46 * time.Second)
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if got := strings.Count((<-served).Body.String(), ": \n\n"); got != 3 {
			t.Errorf("got %d comments in 46 s, want 3", got)
		}
		if opened, closed, _ := core.counts(); opened != 1 || closed != 1 || len(e.conns) != 0 {
			t.Errorf("got %d connections opened, %d closed, %d kept, want 1, 1, 0", opened, closed, len(e.conns))
		}
		if w := serveRecorded(e, request(t.Context(), t, "GET", "http://localhost/sse", "", httpheader.Accept, httpheader.TypeEventStream)); w.Code != 503 {
			t.Errorf("after the end: got status %d, want 503", w.Code)
		}
	})
}

// stalled is the http.ResponseWriter of a client that stops reading when it gets a large
// message. The write of that fails once the write deadline has passed.
type stalled struct {
	*httptest.ResponseRecorder
	writing chan struct{} // closed by the write of the large message
	expired chan struct{} // closed when the write deadline passes
}

func newStalled() *stalled {
	return &stalled{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
}

func (s *stalled) Write(p []byte) (int, error) {
	if len(p) < writePiece {
		return s.ResponseRecorder.Write(p)
	}
	close(s.writing)
	<-s.expired
	return 0, os.ErrDeadlineExceeded
}

func (s *stalled) SetWriteDeadline(t time.Time) error {
	if t.Before(time.Now()) {
		close(s.expired)
	}
	return nil
}

func TestEndOfAConnectionInterruptsTheWriteInProgress(t *testing.T) {
	t.Parallel()
	var reached []mcp.Limit
	core := newTestCore(nil)
	e := NewSSEHandler(core, &Options{WriteTimeout: time.Hour, Reached: func(l mcp.LimitReached) { reached = append(reached, l.Limit) }})
	w := newStalled()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan struct{})
	go func() {
		defer close(served)
		e.ServeHTTP(w, request(ctx, t, "GET", "http://localhost/sse", "", httpheader.Accept, httpheader.TypeEventStream))
	}()
	eventually(t, "the connection is open", func() bool { opened, _, _ := core.counts(); return opened == 1 })
	written := make(chan error, 1)
	go func() { written <- core.session().Push(context.Background(), bytes.Repeat([]byte{'1'}, 2*writePiece)) }()
	<-w.writing
	cancel()
	if err := <-written; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the write: got %v, want that the connection is closed", err)
	}
	<-served
	if len(reached) > 0 {
		t.Errorf("got the limits %v reported, want none, because the client was not slow", reached)
	}
}

func TestEndOfAConnectionThatWritesNothingSendsTheEndOfTheStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		core := newTestCore(nil)
		e := NewSSEHandler(core, nil)
		w := newStalled()
		served := make(chan struct{})
		go func() {
			defer close(served)
			e.ServeHTTP(w, request(t.Context(), t, "GET", "http://localhost/sse", "", httpheader.Accept, httpheader.TypeEventStream))
		}()
		synctest.Wait()
		core.session().End()
		<-served
		select {
		case <-w.expired:
			t.Error("the write deadline has passed, want it left alone")
		default:
		}
		if err := core.session().Push(t.Context(), []byte("{}")); err == nil {
			t.Error("a write after the end: got no error")
		}
	})
}
