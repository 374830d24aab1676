package streamhttp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/wire"
)

// tool is what a test serves under a tool's name.
type tool func(ctx context.Context, in *exchange.Inbound) (any, error)

// testCore is a Core that knows initialize, ping, subscriptions/listen and the
// tools of a test.
type testCore struct {
	dialect *dialect.Server
	tools   map[string]tool
	refuses bool  // initialize fails
	full    error // of Opened
	opaque  bool  // what the test sends is no message

	mu            sync.Mutex
	opened        []*exchange.Session
	closed        int
	requests      int
	notifications []string
}

var _ exchange.Core = (*testCore)(nil)

func newTestCore(tools map[string]tool, revisions ...mcp.Revision) *testCore {
	return &testCore{
		dialect: dialect.NewServer(dialect.ServerParams{
			Revisions: revisions,
			Info:      mcp.Implementation{Name: "test", Version: "1"},
		}),
		tools: tools,
	}
}

func (c *testCore) Dialect() *dialect.Server { return c.dialect }

func (c *testCore) LimitReached(mcp.LimitReached) {}

func (c *testCore) Limits() jsonrpc.Limits { return jsonrpc.Limits{} }

func (c *testCore) Initialized(*exchange.Session) {}

func (c *testCore) Notify(context.Context, *exchange.Session, []string, bool) {}

func (c *testCore) StopNotifying(*exchange.Session) {}

func (c *testCore) Continued(context.Context, *exchange.Inbound, string) dialect.Reply {
	return dialect.Reply{}
}

func (c *testCore) Abandon(context.Context, string) {}

func (c *testCore) Opened(s *exchange.Session) error {
	if c.full != nil {
		return c.full
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened = append(c.opened, s)
	return nil
}

func (c *testCore) Closed(*exchange.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed++
}

// session returns the session that was opened last.
func (c *testCore) session() *exchange.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opened[len(c.opened)-1]
}

func (c *testCore) counts() (opened, closed, requests int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.opened), c.closed, c.requests
}

// sawOneEnd reports whether one session was opened and has been closed.
func (c *testCore) sawOneEnd() bool {
	opened, closed, _ := c.counts()
	return opened == 1 && closed == 1
}

func (c *testCore) Request(ctx context.Context, in *exchange.Inbound) dialect.Reply {
	c.mu.Lock()
	c.requests++
	c.mu.Unlock()
	call, err := c.dialect.Open(in.Message, in.TransportInfo())
	if err != nil {
		return call.Reply(nil, err)
	}
	result, err := c.route(ctx, call, in)
	if err != nil {
		return call.Reply(nil, err)
	}
	return call.Reply(call.Facts.Encode(result))
}

func (c *testCore) route(ctx context.Context, call *dialect.Call, in *exchange.Inbound) (any, error) {
	switch call.Method {
	case mcp.MethodInitialize:
		return c.initialize(call, in)
	case mcp.MethodPing, mcp.MethodToolsList:
		return nil, nil
	case mcp.MethodListen:
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	var params mcp.CallToolParams
	if err := call.Decode(&params); err != nil {
		return nil, err
	}
	run := c.tools[params.Name]
	if run == nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "tool %q: not found", params.Name)
	}
	return run(ctx, in)
}

func (c *testCore) initialize(call *dialect.Call, in *exchange.Inbound) (any, error) {
	agreed, err := c.dialect.Negotiate(call)
	if err != nil {
		return nil, err
	}
	if c.refuses {
		return nil, errors.New("no more")
	}
	in.Session.Agree(agreed)
	return &mcp.InitializeResult{ProtocolVersion: agreed.Facts.Revision.String()}, nil
}

func (c *testCore) Notification(_ context.Context, in *exchange.Inbound) error {
	if _, err := c.dialect.Open(in.Message, in.TransportInfo()); err != nil {
		return err
	}
	if id, cause, ok := dialect.Cancelled(in.Message); ok && in.Session != nil {
		in.Session.Running.Cancel(id, cause)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notifications = append(c.notifications, in.Message.Method)
	return nil
}

// text is the result of a tool that says s.
func text(s string) any {
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(s)}}
}

const (
	noteA = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"a"}}`
	noteB = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"b"}}`
)

// The tools that most tests use.
var plainTools = map[string]tool{
	"hello": func(context.Context, *exchange.Inbound) (any, error) { return text("hello"), nil },
	"talk": func(ctx context.Context, in *exchange.Inbound) (any, error) {
		if in.BackChannel != nil {
			for _, note := range []string{noteA, noteB} {
				if err := in.BackChannel.Send(ctx, []byte(note)); err != nil {
					return nil, err
				}
			}
		}
		return text("said"), nil
	},
	"wait": func(ctx context.Context, _ *exchange.Inbound) (any, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	},
	"fail": func(context.Context, *exchange.Inbound) (any, error) {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "wrong")
	},
}

// testServer is a handler behind a real HTTP server on the loopback interface.
type testServer struct {
	*httptest.Server
	t       *testing.T
	core    *testCore
	handler *Handler
	url     string // of the endpoint
}

func serveTest(t *testing.T, core *testCore, o *Options) *testServer {
	t.Helper()
	h := NewHandler(core, o)
	s := &testServer{Server: httptest.NewServer(judged(t, core, byToken(h))), t: t, core: core, handler: h}
	s.url = s.URL
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		s.Server.Close()
	})
	return s
}

// judged returns a handler in between, which fails the test when the server sends
// what is not valid.
func judged(t *testing.T, core *testCore, h http.Handler) http.Handler {
	t.Helper()
	if core.opaque {
		return h
	}
	m := &wire.Monitor{CheckOnly: []wire.Side{wire.Server}, Report: func(err error) { t.Error(err) }}
	return m.Handler(h, httpheader.SessionID)
}

// Bodies of the messages that tests send.
const (
	modernMeta  = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	initialize  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	ping        = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
)

func callTool(id int, name string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`, id, name)
}

func modernCall(name string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,%s}}`, name, modernMeta)
}

func modernHeaders(method, name string) []string {
	h := []string{httpheader.ProtocolVersion, "2026-07-28", httpheader.Method, method}
	if name != "" {
		h = append(h, httpheader.Name, name)
	}
	return h
}

func request(ctx context.Context, t *testing.T, method, url, body string, headers ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set(httpheader.ContentType, httpheader.TypeJSON)
		r.Header.Set(httpheader.Accept, httpheader.TypeJSON+", "+httpheader.TypeEventStream)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
			continue
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

// answer is a whole HTTP answer.
type answer struct {
	status int
	header http.Header
	body   string
}

// do sends a request and reads the whole answer. A header whose value is empty
// is removed, and one given again is sent twice.
func (s *testServer) do(method, body string, headers ...string) answer {
	s.t.Helper()
	resp, err := s.Client().Do(request(s.t.Context(), s.t, method, s.url, body, headers...))
	if err != nil {
		s.t.Fatalf("%s: %v", method, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatalf("%s: read: %v", method, err)
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: string(raw)}
}

func (s *testServer) post(body string, headers ...string) answer {
	s.t.Helper()
	return s.do(http.MethodPost, body, headers...)
}

// start sends a request whose answer does not end by itself, and returns when
// its head is there.
func (s *testServer) start(method, body string, headers ...string) *openAnswer {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	resp, err := s.Client().Do(request(ctx, s.t, method, s.url, body, headers...))
	if err != nil {
		cancel()
		s.t.Fatalf("%s: %v", method, err)
	}
	a := &openAnswer{t: s.t, resp: resp, lines: bufio.NewReader(resp.Body), hangUp: cancel}
	s.t.Cleanup(a.close)
	return a
}

// openAnswer is an answer that is read event by event.
type openAnswer struct {
	t      *testing.T
	resp   *http.Response
	lines  *bufio.Reader
	hangUp context.CancelFunc
}

func (a *openAnswer) close() {
	a.hangUp()
	a.resp.Body.Close()
}

// event returns the next event that has data, without its id, or "" at the end
// of the stream.
func (a *openAnswer) event() string {
	a.t.Helper()
	for {
		block := a.block()
		if ev := plain(block); ev != "" || block == "" {
			return ev
		}
	}
}

// plain removes the ids, and the events that have nothing else.
func plain(events string) string {
	return eventIDs.ReplaceAllString(emptyEvents.ReplaceAllString(events, ""), "")
}

var (
	eventIDs    = regexp.MustCompile(`(?m)^id: .*\n`)
	emptyEvents = regexp.MustCompile(`(?m)^id: .*\n(retry: .*\n)?data: \n\n?`)
)

// block returns the next block of the event stream, or "" at its end.
func (a *openAnswer) block() string {
	a.t.Helper()
	var block strings.Builder
	for {
		line, err := a.lines.ReadString('\n')
		if err != nil {
			return block.String()
		}
		if line == "\n" {
			return block.String()
		}
		block.WriteString(line)
	}
}

// open opens a session and returns its id.
func (s *testServer) open(body string) string {
	s.t.Helper()
	a := s.post(body)
	id := a.header.Get(httpheader.SessionID)
	if a.status != http.StatusOK || id == "" {
		s.t.Fatalf("initialize: got status %d, session %q, body %s", a.status, id, a.body)
	}
	return id
}

func event(data string) string { return "event: message\ndata: " + data + "\n" }

// eventually waits for what another goroutine is about to bring about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not so after 3 minutes: %s", what)
		}
	}
}
