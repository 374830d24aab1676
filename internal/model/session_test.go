package model_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// session is a client of the session era. Each of its requests reaches any replica.
type session struct {
	*client
	revision string
	id       string // of the session; set by open

	mu         sync.Mutex
	current    map[string]*response // guarded by mu: the connection of each call, and of the GET stream ("")
	subscribed map[string]bool      // guarded by mu: URIs; false while it is not known whether the server has subscribed the client
	notified   map[string]int       // guarded by mu: updates of each URI
	seen       map[string]int64     // guarded by mu: the last event of each event stream
	listening  bool                 // guarded by mu
	stop       chan struct{}        // closed when the client ends
}

func newSession(w *world, name, owner, revision string) *session {
	return &session{
		client: newClient(w, name, owner), revision: revision, current: make(map[string]*response), stop: make(chan struct{}),
		subscribed: make(map[string]bool), notified: make(map[string]int), seen: make(map[string]int64),
	}
}

func (s *session) header(last string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	if s.id != "" {
		h.Set("Mcp-Session-Id", s.id)
		h.Set("Mcp-Protocol-Version", s.revision)
	}
	if last != "" {
		h.Set("Last-Event-ID", last)
	}
	return h
}

// open opens the session, at another replica if one is killed meanwhile.
func (s *session) open() {
	for range 10 {
		res, err := s.send(http.MethodPost, request("0", "initialize", fmt.Sprintf(
			`"protocolVersion":%q,"clientInfo":{"name":"c","version":"1"},"capabilities":{"elicitation":{}}`, s.revision)), s.header(""))
		if err == nil {
			_, _ = res.text()
			s.id = res.header.Get("Mcp-Session-Id")
		}
		if s.id != "" {
			s.post(notification("notifications/initialized", ""))
			s.world.facts.log("%s: session opened", s.name)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.world.facts.record(&s.world.facts.excluded, "%s: no replica has opened a session", s.name)
}

// post sends a message until a replica has taken it, and returns the response.
func (s *session) post(body string) (status int, text string) {
	for range 40 {
		res, err := s.send(http.MethodPost, body, s.header(""))
		if err == nil {
			text, err = res.text()
		}
		if err == nil && res.status != http.StatusServiceUnavailable && res.status != http.StatusTooManyRequests {
			return res.status, text
		}
		time.Sleep(time.Second)
	}
	return http.StatusServiceUnavailable, text
}

// connect makes res the connection of a call, or of the GET stream.
func (s *session) connect(nonce string, res *response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current[nonce] = res
}

// disconnect breaks a connection off, which the client then resumes.
func (s *session) disconnect(nonce string) {
	s.mu.Lock()
	res := s.current[nonce]
	s.mu.Unlock()
	if res != nil {
		res.Close()
	}
}

// take checks the number of an event. It reports false if the client has it already.
func (s *session) take(e event) bool {
	stream, n := e.number()
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.seen[stream]
	switch {
	case e.id == "":
		return e.data != ""
	case e.data == "": // where to resume
		if known && n != last {
			s.world.facts.record(&s.world.facts.repeated, "%s: the stream %s is to be resumed after event %d, and the last one was %d", s.name, stream, n, last)
		}
		s.seen[stream] = n
		return false
	case n != last+1:
		s.world.facts.record(&s.world.facts.repeated, "%s: got event %s after %d: %.150s", s.name, e.id, last, e.data)
	}
	s.seen[stream] = n
	return true
}

// call calls a tool and waits for the outcome, also over several connections.
func (s *session) call(c *call, tool string, in arguments) {
	res, err := s.send(http.MethodPost, request(c.nonce, "tools/call", toolCall(tool, in)), s.header(""))
	last := ""
	for end := time.Now().Add(patience); time.Now().Before(end) && !s.world.facts.ended(c); {
		switch {
		case err != nil && last == "":
			s.world.facts.end(c, broken, err.Error())
			return
		case err == nil && !res.isStream():
			if last = s.notStream(c, res, last); last == "" {
				return
			}
		case err == nil:
			s.connect(c.nonce, res)
			_ = readEvents(res, func(e event) bool {
				if e.id != "" {
					last = e.id
				}
				if s.take(e) {
					s.callMessage(c, e.data)
				}
				return true
			})
			res.Close()
			if last == "" && !s.world.facts.ended(c) {
				s.world.facts.end(c, broken, "no event id")
				return
			}
		}
		if s.world.facts.ended(c) {
			return
		}
		time.Sleep(s.duration(time.Millisecond, 500*time.Millisecond))
		res, err = s.send(http.MethodGet, "", s.header(last))
	}
}

// notStream handles a response that is no event stream. It returns the event to resume after if
// the client tries again.
func (s *session) notStream(c *call, res *response, last string) string {
	text, err := res.text()
	retry := res.status == http.StatusServiceUnavailable || res.status == http.StatusTooManyRequests
	if last != "" && (retry || err != nil) {
		return last
	}
	_, parsed := parse(text)
	switch {
	case err != nil:
		s.world.facts.end(c, broken, err.Error())
	case last != "" || parsed != nil || res.status != http.StatusOK:
		s.world.facts.end(c, failed, fmt.Sprint(res.status, " ", text))
	default:
		s.callMessage(c, text)
	}
	return ""
}

// callMessage handles a message on the stream of a call.
func (s *session) callMessage(c *call, text string) {
	f := s.world.facts
	m, err := parse(text)
	switch {
	case err != nil:
		f.record(&f.foreign, "%s: call %s: got %.200s: %v", s.name, c.nonce, text, err)
	case m.Method == "notifications/progress":
		s.progress(c, m)
	case m.Method == "elicitation/create":
		if m.Params.Message != c.nonce {
			f.record(&f.foreign, "%s: call %s: got the question %.200s", s.name, c.nonce, text)
		}
		s.world.work.Go(func() {
			s.pause(2 * time.Second)
			s.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"word":%q}}}`, m.ID, wordFor(c.nonce)))
		})
	case m.Method == "notifications/cancelled": // of a question
	case m.Method != "":
		f.record(&f.foreign, "%s: call %s: got %.200s", s.name, c.nonce, text)
	default:
		if id := strings.Trim(string(m.ID), `"`); id != c.nonce {
			f.record(&f.foreign, "%s: call %s: got the reply to %s", s.name, c.nonce, id)
		}
		kind, text := m.outcome()
		f.end(c, kind, text)
	}
}

// deliver handles a message of the GET stream.
func (s *session) deliver(text string) {
	m, err := parse(text)
	f := s.world.facts
	switch {
	case err != nil || !strings.HasPrefix(m.Method, "notifications/"):
		f.record(&f.foreign, "%s: GET stream: got %.200s", s.name, text)
	case m.Method == "notifications/resources/updated":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.notified[m.Params.URI]++
		f.log("%s: is notified of %s", s.name, m.Params.URI)
		if _, asked := s.subscribed[m.Params.URI]; !asked {
			f.record(&f.foreign, "%s: GET stream: got %.200s", s.name, text)
		}
	}
}

// listen keeps a GET stream open until the client ends, over many connections.
func (s *session) listen() {
	s.mu.Lock()
	already := s.listening
	s.listening = true
	s.mu.Unlock()
	last := ""
	for !already && !s.hasEnded() {
		res, err := s.send(http.MethodGet, "", s.header(last))
		switch {
		case err != nil:
		case res.isStream():
			s.world.facts.log("%s: GET stream at %v after %q", s.name, res.at, last)
			s.connect("", res)
			if s.hasEnded() {
				res.Close()
			}
			_ = readEvents(res, func(e event) bool {
				if e.id != "" {
					last = e.id
				}
				if s.take(e) {
					s.deliver(e.data)
				}
				return true
			})
			res.Close()
		default:
			text, _ := res.text()
			s.world.facts.log("%s: GET stream at %v after %q: %d %.150s", s.name, res.at, last, res.status, text)
			if res.status == http.StatusBadRequest {
				last = ""
			}
		}
		s.pause(500 * time.Millisecond)
	}
}

func (s *session) subscribe(uri string) {
	s.mu.Lock()
	if !s.subscribed[uri] {
		s.subscribed[uri] = false
	}
	s.mu.Unlock()
	status, text := s.post(request("subscribe", "resources/subscribe", fmt.Sprintf(`"uri":%q`, uri)))
	s.world.facts.log("%s: subscribes to %s: %d %.100s", s.name, uri, status, text)
	if status == http.StatusOK && strings.Contains(text, `"result"`) {
		s.mu.Lock()
		s.subscribed[uri] = true
		s.mu.Unlock()
	}
}

// cancelCall cancels a call, whose outcome the client does not wait for any more.
func (s *session) cancelCall(c *call) {
	f := s.world.facts
	f.mu.Lock()
	c.cancelled = true
	f.mu.Unlock()
	s.post(notification("notifications/cancelled", fmt.Sprintf(`"requestId":%q`, c.nonce)))
	s.disconnect(c.nonce)
}

func (s *session) hasEnded() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

// end ends the client: it deletes the session.
func (s *session) end() {
	if s.hasEnded() {
		return
	}
	close(s.stop)
	s.disconnect("")
	for range 40 {
		res, err := s.send(http.MethodDelete, "", s.header(""))
		if err == nil {
			_, err = res.text()
		}
		if err == nil && (res.status == http.StatusNoContent || res.status == http.StatusNotFound) {
			s.world.facts.log("%s: session deleted", s.name)
			return
		}
		time.Sleep(time.Second)
	}
	s.world.facts.record(&s.world.facts.left, "%s: the session could not be deleted", s.name)
}
