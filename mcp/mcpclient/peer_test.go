package mcpclient_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// message is one message that a scripted server got.
type message struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  jsontext.Value `json:"error"`
}

func parse(data []byte) message {
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		panic(err)
	}
	return m
}

// param returns one member of the params as JSON, by its dotted path.
func (m message) param(path ...string) string {
	raw := m.Params
	for _, name := range path {
		var object map[string]jsontext.Value
		if json.Unmarshal(raw, &object) != nil {
			return ""
		}
		raw = object[name]
	}
	return string(raw)
}

func (m message) result(result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (m message) fail(code int, text, data string) string {
	if data != "" {
		data = `,"data":` + data
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q%s}}`, m.ID, code, text, data)
}

// subscriptionID is the metadata by which a notification belongs to m.
func (m message) subscriptionID() string {
	return fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/subscriptionId":%s}`, m.ID)
}

// script is a server on an ordered connection. It answers each message with
// what handle returns; an empty string is no answer.
type script struct {
	conn   mcp.Conn
	handle func(s *script, m message) string

	mu  sync.Mutex
	got []message
}

func (s *script) run() {
	var answers sync.WaitGroup
	defer answers.Wait()
	for {
		data, err := s.conn.Read(context.Background())
		if err != nil {
			return
		}
		m := parse(data)
		s.mu.Lock()
		s.got = append(s.got, m)
		s.mu.Unlock()
		if m.Method == mcp.MethodInitialize || m.Method == mcp.MethodDiscover {
			s.send(s.handle(s, m)) // in order
			continue
		}
		answers.Go(func() { s.send(s.handle(s, m)) })
	}
}

func (s *script) send(text string) {
	if text != "" {
		_ = s.conn.Write(context.Background(), []byte(text))
	}
}

// messages returns what came of one method; "" stands for responses.
func (s *script) messages(method string) []message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var some []message
	for _, m := range s.got {
		if m.Method == method {
			some = append(some, m)
		}
	}
	return some
}

func (s *script) methods() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, m := range s.got {
		all = append(all, m.Method)
	}
	return strings.Join(all, " ")
}

// scripts makes a scripted server for each connection of a client.
type scripts struct {
	t      *testing.T
	handle func(s *script, m message) string

	mu   sync.Mutex
	all  []*script
	work sync.WaitGroup
}

// serve returns a target whose servers follow the script, one per connection.
func serve(t *testing.T, handle func(s *script, m message) string) (*scripts, mcpclient.Target) {
	t.Helper()
	servers := &scripts{t: t, handle: handle}
	t.Cleanup(servers.work.Wait)
	return servers, mcpclient.Dial(func(context.Context) (mcp.Conn, error) { return servers.open(), nil })
}

// open connects one more client, which has to send what is valid.
func (ss *scripts) open() mcp.Conn {
	ours, theirs := memory.Pair()
	s := &script{conn: theirs, handle: ss.handle}
	ss.mu.Lock()
	ss.all = append(ss.all, s)
	ss.mu.Unlock()
	ss.work.Go(func() {
		defer theirs.Close()
		s.run()
	})
	return mcptest.CheckWire(ss.t, ours, mcptest.Client, mcptest.CheckOnly(mcptest.Client))
}

// nth returns the server of the nth connection, counted from 0.
func (ss *scripts) nth(n int) *script {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if n >= len(ss.all) {
		return &script{}
	}
	return ss.all[n]
}

const everything = `{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{}}`

// stateless answers the handshake as a server of the newest revision does, and
// leaves the rest to next.
func stateless(next func(s *script, m message) string) func(*script, message) string {
	return func(s *script, m message) string {
		switch m.Method {
		case mcp.MethodDiscover:
			return m.result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":` + everything +
				`,"instructions":"be kind","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"new","version":"2"}}}`)
		case mcp.MethodInitialize:
			return m.fail(-32601, "no sessions here", "")
		}
		if next == nil {
			return m.fail(-32601, "not scripted", "")
		}
		return next(s, m)
	}
}

// session answers the handshake as a server of the given older revision does,
// and leaves the rest to next.
func session(revision mcp.Revision, next func(s *script, m message) string) func(*script, message) string {
	return func(s *script, m message) string {
		switch m.Method {
		case mcp.MethodInitialize:
			return m.result(initializeResult(revision.String()))
		case mcp.MethodPing, mcp.MethodSetLevel:
			return m.result(`{}`)
		case mcp.NotificationInitialized, mcp.NotificationCancelled:
			return ""
		}
		if next == nil || m.Method == mcp.MethodDiscover {
			return m.fail(-32601, "not scripted", "")
		}
		return next(s, m)
	}
}

func initializeResult(revision string) string {
	return `{"protocolVersion":"` + revision + `","capabilities":` + everything + `,"serverInfo":{"name":"old","version":"1"},"instructions":"be kind"}`
}

// eras are one server of each era that behave alike.
func eras(next func(s *script, m message) string) map[string]func(*script, message) string {
	return map[string]func(*script, message) string{
		"session":   session(mcp.V20251125, next),
		"stateless": stateless(next),
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// connect connects and closes the client at the end of the test.
func connect(t *testing.T, target mcpclient.Target, opts *mcpclient.Options) *mcpclient.Client {
	t.Helper()
	if opts == nil {
		opts = new(mcpclient.Options)
	}
	if opts.Logger == nil {
		opts.Logger = quiet()
	}
	if _, ok := target.(*mcpclient.CommandTarget); ok { // a process takes its time on a busy machine
		opts.Timeouts.Probe, opts.Timeouts.Connect = 2*time.Minute, 3*time.Minute
	}
	c, err := mcpclient.Connect(t.Context(), target, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

type rawValue = jsontext.Value

func raw(text string) jsontext.Value { return jsontext.Value(text) }

func answer(text string) jsontext.Value { return raw(`{"answer":` + text + `}`) }

type ctxT = context.Context

// statusOf returns the HTTP status of an error, or 0.
func statusOf(err error) int {
	if e, ok := errors.AsType[*mcpclient.HTTPError](err); ok {
		return e.Status
	}
	return 0
}
