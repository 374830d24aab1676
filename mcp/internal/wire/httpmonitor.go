package wire

import (
	"bytes"
	"encoding/json/jsontext"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/rawjson"
	"github.com/fondaco/fondaco/mcp/internal/sse"
)

// Handler returns a handler that wraps another and validates its messages, for
// all HTTP bindings. Session is the name of the session header.
func (m *Monitor) Handler(next http.Handler, session string) http.Handler {
	return &monitoredHandler{traffic: m.traffic(session), next: next}
}

type monitoredHandler struct {
	*traffic
	next http.Handler
}

func (h *monitoredHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := h.begin(r)
	out := &monitoredWriter{ResponseWriter: w, x: x}
	r = r.Clone(r.Context())
	r.Body = x.request(r.Body, r.ContentLength)
	h.next.ServeHTTP(out, r)
}

// monitoredWriter passes data to the monitor before it writes the data.
type monitoredWriter struct {
	http.ResponseWriter
	x *exchange
}

// Unwrap lets http.ResponseController reach the writer.
func (w *monitoredWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *monitoredWriter) WriteHeader(status int) {
	w.x.header(w.Header())
	w.x.status(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *monitoredWriter) Write(p []byte) (int, error) {
	w.x.header(w.Header())
	w.x.response(p)
	return w.ResponseWriter.Write(p)
}

// Transport returns a transport that wraps another and validates its messages,
// for all HTTP bindings. Session is the name of the session header.
func (m *Monitor) Transport(next http.RoundTripper, session string) http.RoundTripper {
	return &monitoredTransport{traffic: m.traffic(session), next: next}
}

type monitoredTransport struct {
	*traffic
	next http.RoundTripper
}

func (t *monitoredTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	x := t.begin(r)
	if r.Body != nil {
		r = r.Clone(r.Context())
		r.Body = x.request(r.Body, r.ContentLength)
	}
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	x.header(resp.Header)
	x.status(resp.StatusCode)
	resp.Body = &observedBody{ReadCloser: resp.Body, show: x.response, end: func() {}}
	return resp, nil
}

// observedBody passes data that is read to the monitor.
type observedBody struct {
	io.ReadCloser
	show func([]byte)
	end  func()
}

func (b *observedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.show(p[:n])
	if err != nil {
		b.end()
	}
	return n, err
}

// traffic holds the conversations of one endpoint.
type traffic struct {
	monitor *Monitor
	session string // the header

	mu       sync.Mutex
	sessions map[string]*stream // by the header's value, or the query that HTTP+SSE uses
}

// stream is one conversation, with the data that identifies repeated messages: events that are
// sent again after a connection broke, and messages that were refused because of credentials.
type stream struct {
	*Conversation
	mu      sync.Mutex
	seen    map[string]bool
	refused map[string]bool
}

func (m *Monitor) traffic(session string) *traffic {
	return &traffic{monitor: m, session: session, sessions: make(map[string]*stream)}
}

// begin begins one request and its response.
func (t *traffic) begin(r *http.Request) *exchange {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions[r.Header.Get(t.session)]
	if s == nil {
		s = t.sessions[r.URL.RawQuery]
	}
	if s == nil {
		s = &stream{Conversation: t.monitor.conversation(), seen: make(map[string]bool), refused: make(map[string]bool)}
	}
	return &exchange{traffic: t, stream: s}
}

func (t *traffic) open(name string, s *stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if name != "" && t.sessions[name] == nil {
		t.sessions[name] = s
	}
}

// exchange is one request and its response. One goroutine passes the data of one direction.
type exchange struct {
	traffic *traffic
	stream  *stream

	body  []byte
	media string // of the response
	buf   []byte // of the response, not validated yet

	sent    string // the whole body, once it was read; guarded by the stream's mu
	refused bool   // because of credentials; guarded by the stream's mu
}

// request passes the body of the request to the monitor after it was read. A body of known length
// has been read when it has that length: the response may arrive before net/http reads its end.
func (x *exchange) request(body io.ReadCloser, length int64) io.ReadCloser {
	end := func() {
		body := x.body
		x.body = nil
		if len(body) > 0 && x.recordSent(string(body)) {
			x.traffic.monitor.check(x.stream.Conversation, Client, body)
		}
	}
	show := func(p []byte) {
		x.body = append(x.body, p...)
		if int64(len(x.body)) == length {
			end()
		}
	}
	return &observedBody{ReadCloser: body, show: show, end: end}
}

// recordSent stores the body that was sent. It reports whether the message is new: not one
// that is sent again after a refusal.
func (x *exchange) recordSent(body string) bool {
	s := x.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	again := s.refused[body]
	if delete(s.refused, body); x.refused {
		s.refused[body] = true
	}
	x.sent = body
	return !again
}

// status processes the status of the response, which may arrive before the request body was
// read.
func (x *exchange) status(code int) {
	if code != http.StatusUnauthorized && code != http.StatusForbidden {
		return
	}
	s := x.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	x.refused = true
	if x.sent != "" {
		s.refused[x.sent] = true
	}
}

// answered processes a refusal that is the response to the message: it is not sent again.
func (x *exchange) answered(body jsontext.Value) {
	if rawjson.Member(body, "id") == nil {
		return
	}
	s := x.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	x.refused = false
	delete(s.refused, x.sent)
}

// header processes the header of the response.
func (x *exchange) header(h http.Header) {
	x.media, _, _ = mime.ParseMediaType(h.Get("Content-Type"))
	x.traffic.open(h.Get(x.traffic.session), x.stream)
}

// response processes the next bytes of the response.
func (x *exchange) response(p []byte) {
	x.buf = append(x.buf, p...)
	if x.media == "application/json" && jsontext.Value(x.buf).IsValid() {
		x.traffic.monitor.check(x.stream.Conversation, Server, x.buf)
		x.answered(x.buf)
		x.buf = nil
	}
	for x.media == "text/event-stream" {
		end := endOfEvent.FindIndex(x.buf)
		if end == nil {
			return
		}
		event := x.buf[:end[1]]
		x.buf = x.buf[end[1]:]
		x.event(event)
	}
}

// endOfEvent matches the blank line after an event, with each of the three line endings.
var endOfEvent = regexp.MustCompile(`\r\n\r\n|\n\n|\r\r`)

func (x *exchange) event(text []byte) {
	ev, err := sse.NewReader(bytes.NewReader(text), len(text)+1).Next()
	switch {
	case err != nil || len(ev.Data) == 0 || x.stream.again(ev.ID):
	case ev.Name == "endpoint":
		if u, err := url.Parse(string(ev.Data)); err == nil {
			x.traffic.open(u.RawQuery, x.stream)
		}
	default:
		x.traffic.monitor.check(x.stream.Conversation, Server, ev.Data)
	}
}

// again reports whether an event was seen before.
func (s *stream) again(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := id != "" && s.seen[id]
	s.seen[id] = true
	return was
}
