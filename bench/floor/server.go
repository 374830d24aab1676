package main

import (
	"crypto/rand"
	"io"
	"net/http"
	"sync"

	"github.com/fondaco/fondaco/bench/internal/contest"
)

const (
	acknowledged = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{}}\n\n"
	updated      = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"" + contest.Item + "\"}}\n\n"
)

// server answers over HTTP.
type server struct {
	answers *answers
	stream  bool // answers are event streams
	buffers sync.Pool

	mu          sync.Mutex // protects the field below
	subscribers map[chan struct{}]bool
}

type buffers struct{ in, out []byte }

func newServer(c *contest.Config, a *answers) *server {
	s := &server{answers: a, stream: c.Resp == "sse", subscribers: make(map[chan struct{}]bool)}
	s.buffers.New = func() any { return new(buffers) }
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.hold(w, r, ": open\n\n")
		return
	}
	if r.ContentLength < 0 {
		http.Error(w, "length required", http.StatusLengthRequired)
		return
	}
	b := s.buffers.Get().(*buffers)
	defer s.buffers.Put(b)
	b.in = resize(b.in, int(r.ContentLength))
	if _, err := io.ReadFull(r.Body, b.in); err != nil {
		return
	}
	req := parse(b.in)
	switch {
	case string(req.method) == "subscriptions/listen":
		s.hold(w, r, acknowledged)
	case req.id == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		s.answer(w, req, b)
	}
}

func resize(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// The values of header fields, made once.
var (
	asJSON   = []string{"application/json"}
	asStream = []string{"text/event-stream"}
)

func (s *server) answer(w http.ResponseWriter, r request, b *buffers) {
	h := w.Header()
	if string(r.method) == "initialize" {
		h.Set("Mcp-Session-Id", rand.Text())
	}
	if s.stream {
		h["Content-Type"] = asStream
		b.out = s.answers.append(append(b.out[:0], "event: message\ndata: "...), r)
		b.out = append(b.out, "\n\n"...)
	} else {
		h["Content-Type"] = asJSON
		b.out = s.answers.append(b.out[:0], r)
	}
	w.Write(b.out)
}

// hold keeps a stream open and sends each update on it.
func (s *server) hold(w http.ResponseWriter, r *http.Request, first string) {
	w.Header()["Content-Type"] = asStream
	out := http.NewResponseController(w)
	updates := make(chan struct{}, 1)
	s.subscribe(updates)
	defer s.unsubscribe(updates)
	for event := first; ; event = updated {
		io.WriteString(w, event)
		out.Flush()
		select {
		case <-r.Context().Done():
			return
		case <-updates:
		}
	}
}

func (s *server) subscribe(updates chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers[updates] = true
}

func (s *server) unsubscribe(updates chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.subscribers, updates)
}

// update wakes every subscriber. A subscriber that has not sent the previous update
// yet sends only one.
func (s *server) update() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for updates := range s.subscribers {
		select {
		case updates <- struct{}{}:
		default:
		}
	}
}
