package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/wiretest"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// verdict is the outcome of one request over HTTP.
type verdict struct {
	status    int
	challenge string
	message
}

// forbids reports whether the request was refused for its scopes.
func (v verdict) forbids() bool { return v.Error != nil && v.Error.Code == 403 }

// caller is a client of Streamable HTTP, in raw messages and without a network. Each
// of them has a token of its own, for byToken.
type caller struct {
	t        *testing.T
	h        http.Handler
	revision mcp.Revision
	session  string
}

// callerOf connects a client. In the session era the token opens a session.
func callerOf(t *testing.T, srv *mcpserver.Server, r mcp.Revision, token string) *caller {
	t.Helper()
	c := &caller{t: t, h: mcptest.CheckHandler(t, byToken(srv.HTTPHandler()), mcptest.CheckOnly(mcptest.Server)), revision: r}
	if isModern(r) {
		return c
	}
	w := c.do(http.MethodPost, token, initializeOf(r))
	if c.session = w.Header().Get("Mcp-Session-Id"); c.session == "" {
		t.Fatalf("initialize: got %d %s", w.Code, w.Body)
	}
	c.do(http.MethodPost, token, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func initializeOf(r mcp.Revision) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"caller","version":"0"}}}`, r, canAll)
}

// do sends one HTTP request and returns the whole answer, or what has come of it
// after two minutes.
func (c *caller) do(method, token, body string, header ...string) *httptest.ResponseRecorder {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	w := httptest.NewRecorder()
	c.h.ServeHTTP(w, c.newRequest(method, token, body, header...).WithContext(ctx))
	return w
}

func (c *caller) newRequest(method, token, body string, header ...string) *http.Request {
	r := httptest.NewRequest(method, "http://127.0.0.1/mcp", strings.NewReader(body))
	r.Header.Set("Accept", "text/event-stream")
	if method == http.MethodPost {
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Content-Type", "application/json")
	}
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	r.Header.Set("Authorization", token)
	return r
}

// call sends one request of the protocol.
func (c *caller) call(token, method, params string) verdict {
	c.t.Helper()
	body, header := c.form(method, params)
	w := c.do(http.MethodPost, token, body, header...)
	return verdict{w.Code, w.Header().Get("Www-Authenticate"), lastMessage(c.t, w.Body.Bytes())}
}

// form is a request in the form of the revision, with the headers that go with it.
func (c *caller) form(method, params string) (body string, header []string) {
	params = (&wire{Client: wiretest.Client{T: c.t, Revision: c.revision, Capabilities: canTasks}}).Params(params)
	if isModern(c.revision) {
		header = []string{"Mcp-Protocol-Version", c.revision.String(), "Mcp-Method", method}
		if name := nameIn(c.t, method, params); name != "" {
			header = append(header, "Mcp-Name", name)
		}
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, params), header
}

const canTasks = `{"elicitation":{"form":{},"url":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// nameIn returns what the name header repeats.
func nameIn(t *testing.T, method, params string) string {
	p := decoded[struct {
		Name   string `json:"name"`
		URI    string `json:"uri"`
		TaskID string `json:"taskId"`
	}](t, []byte(params))
	switch method {
	case "tools/call", "prompts/get":
		return p.Name
	case "resources/read":
		return p.URI
	}
	return p.TaskID
}

// lastMessage returns the last message of an answer of either form.
func lastMessage(t *testing.T, body []byte) (m message) {
	t.Helper()
	if i := bytes.LastIndex(body, []byte("data: {")); i >= 0 {
		body, _, _ = bytes.Cut(body[i+len("data: "):], []byte("\n"))
	}
	m.Raw = string(body)
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatalf("decode %s: %v", body, err)
	}
	return m
}

// callBatch is call as an item of a batch, beside another.
func (c *caller) callBatch(token, method, params string) verdict {
	c.t.Helper()
	body, _ := c.form(method, params)
	w := c.do(http.MethodPost, token, `[`+body+`,{"jsonrpc":"2.0","id":8,"method":"ping"}]`)
	v := verdict{status: w.Code, challenge: w.Header().Get("Www-Authenticate")}
	text := w.Body.Bytes()
	if i := bytes.LastIndex(text, []byte("data: [")); i >= 0 {
		text, _, _ = bytes.Cut(text[i+len("data: "):], []byte("\n"))
	}
	items := decoded[[]message](c.t, text)
	if len(items) != 2 || items[1].Result == nil {
		c.t.Fatalf("%s: got %s, want two items", method, text)
	}
	v.message = items[0]
	return v
}

// streamCaller is a client of HTTP+SSE. It needs fake time.
type streamCaller struct {
	caller
	out  *eventSink
	end  context.CancelFunc
	done chan struct{}
}

// eventSink keeps what is written to an event stream.
type eventSink struct {
	*httptest.ResponseRecorder
	mu sync.Mutex
}

func (s *eventSink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ResponseRecorder.Write(p)
}

func (s *eventSink) text() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.Body.Bytes())
}

// streamCallerOf connects a client until the test ends.
func streamCallerOf(t *testing.T, srv *mcpserver.Server, r mcp.Revision, token string) *streamCaller {
	t.Helper()
	c := &streamCaller{
		caller: caller{t: t, h: byToken(srv.EventStreamHandler()), revision: r},
		out:    &eventSink{ResponseRecorder: httptest.NewRecorder()}, done: make(chan struct{}),
	}
	ctx, end := context.WithCancel(context.Background())
	c.end = end
	go func() {
		defer close(c.done)
		c.h.ServeHTTP(c.out, c.newRequest(http.MethodGet, token, "").WithContext(ctx))
	}()
	t.Cleanup(func() { end(); <-c.done })
	synctest.Wait()
	if c.call(token, "", initializeOf(r)).Result == nil {
		t.Fatalf("initialize: got %s", c.out.text())
	}
	return c
}

// call posts a request and takes its reply from the stream.
func (c *streamCaller) call(token, method, params string) verdict {
	c.t.Helper()
	body := params
	if method != "" {
		body, _ = c.form(method, params)
	}
	w := c.post(token, body)
	synctest.Wait()
	return verdict{w.Code, w.Header().Get("Www-Authenticate"), lastMessage(c.t, c.out.text())}
}

// post posts one message to where the first event says.
func (c *streamCaller) post(token, body string) *httptest.ResponseRecorder {
	_, at, _ := strings.Cut(string(c.out.text()), "sessionId=")
	id, _, _ := strings.Cut(at, "\n")
	r := c.newRequest(http.MethodPost, token, body)
	r.URL.RawQuery = "sessionId=" + id
	w := httptest.NewRecorder()
	c.h.ServeHTTP(w, r)
	return w
}

// dialWith is dialAs over a connection whose other end is known.
func dialWith(t *testing.T, srv *mcpserver.Server, r mcp.Revision, who *mcp.Identity) *wire {
	t.Helper()
	ours, theirs := pipe(t)
	w := &wire{Client: wiretest.Client{T: t, Conn: ours}, served: make(chan error, 1)}
	go func() {
		w.served <- srv.ServeConn(context.Background(), theirs, mcpserver.ConnOptions{Identity: who})
	}()
	t.Cleanup(func() {
		_ = ours.Close()
		<-w.served
	})
	w.Initialize(r, `{}`)
	return w
}
