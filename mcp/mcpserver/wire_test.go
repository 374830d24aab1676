package mcpserver_test

import (
	"cmp"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/jsontest"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// eras are one revision of each era, for what has to be the same in both.
var eras = []mcp.Revision{mcp.V20251125, mcp.V20260728}

// revisions are all, oldest first.
var revisions = []mcp.Revision{mcp.V20241105, mcp.V20250326, mcp.V20250618, mcp.V20251125, mcp.V20260728}

func isModern(r mcp.Revision) bool { return r == mcp.V20260728 }

// eachEra runs a test once for each era, in fake time.
func eachEra(t *testing.T, test func(t *testing.T, r mcp.Revision)) {
	eachOf(t, eras, test)
}

func eachOf(t *testing.T, all []mcp.Revision, test func(t *testing.T, r mcp.Revision)) {
	t.Helper()
	t.Parallel()
	for _, r := range all {
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, r) })
		})
	}
}

// newServer returns a server that logs nothing.
func newServer(o *mcpserver.Options) *mcpserver.Server {
	if o == nil {
		o = new(mcpserver.Options)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return mcpserver.New("test", "1", o)
}

// wire is the client's end of a connection to a server, in raw JSON.
type wire struct {
	t        *testing.T
	conn     mcp.Conn
	revision mcp.Revision
	can      string // the capabilities that requests of the stateless era declare
	last     int
	held     []message // read while waiting for something else
	served   chan error
}

// message is one message of the server.
type message struct {
	raw    string
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  *wireError     `json:"error"`
}

type wireError struct {
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data"`
}

// connect serves one connection, on which nothing was sent, until the test ends.
func connect(t *testing.T, srv *mcpserver.Server) *wire {
	t.Helper()
	ours, theirs := pipe(t)
	return attach(t, srv, ours, theirs)
}

func attach(t *testing.T, srv *mcpserver.Server, ours, theirs mcp.Conn) *wire {
	w := &wire{t: t, conn: ours, served: make(chan error, 1)}
	go func() { w.served <- srv.Serve(context.Background(), theirs) }()
	t.Cleanup(func() {
		_ = ours.Close()
		if err := <-w.served; err != nil && !errors.Is(err, mcpserver.ErrShutdown) {
			t.Errorf("serve: %v", err)
		}
		w.served <- nil
	})
	return w
}

// dial connects a client that speaks a revision and has made itself known.
func dial(t *testing.T, srv *mcpserver.Server, r mcp.Revision) *wire {
	t.Helper()
	return dialAs(t, srv, r, `{}`)
}

// dialAs is dial for a client that declares capabilities.
func dialAs(t *testing.T, srv *mcpserver.Server, r mcp.Revision, capabilities string) *wire {
	t.Helper()
	w := connect(t, srv)
	w.begin(r, capabilities)
	return w
}

func (w *wire) begin(r mcp.Revision, capabilities string) {
	w.t.Helper()
	w.revision, w.can = r, capabilities
	if isModern(r) {
		return
	}
	w.must("initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"wire","version":"0"}}`, r, capabilities))
	w.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	w.must("ping", "") // the notification has been taken
}

func (w *wire) write(msg string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := w.conn.Write(ctx, []byte(msg)); err != nil {
		w.t.Fatalf("write %s: %v", msg, err)
	}
}

// read returns the next message of the server.
func (w *wire) read() message {
	w.t.Helper()
	if len(w.held) > 0 {
		m := w.held[0]
		w.held = w.held[1:]
		return m
	}
	return w.receive()
}

func (w *wire) receive() message {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	data, err := w.conn.Read(ctx)
	if err != nil {
		w.t.Fatalf("read: %v", err)
	}
	m := message{raw: string(data)}
	if err := json.Unmarshal(data, &m); err != nil {
		w.t.Fatalf("read %s: %v", data, err)
	}
	return m
}

// quiet makes sure that the server sends nothing for a while. It needs fake time.
func (w *wire) quiet() {
	w.t.Helper()
	for _, m := range w.held {
		w.t.Errorf("got %s, want silence", m.raw)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if data, err := w.conn.Read(ctx); !errors.Is(err, context.DeadlineExceeded) {
		w.t.Errorf("got %s, %v, want silence", data, err)
	}
}

// send sends a request in the form of the revision and returns its id.
func (w *wire) send(method, params string) string {
	w.t.Helper()
	w.last++
	id := strconv.Itoa(w.last)
	w.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, w.params(params)))
	return id
}

// params adds what every request of the stateless era carries.
func (w *wire) params(params string) string {
	if params == "" {
		params = "{}"
	}
	if !isModern(w.revision) {
		return params
	}
	return withMeta(w.t, params, fmt.Sprintf(`"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":%s`, w.revision, cmp.Or(w.can, "{}")))
}

// withMeta adds members to params._meta.
func withMeta(t *testing.T, params, members string) string {
	t.Helper()
	if rest, ok := strings.CutPrefix(params, `{"_meta":{`); ok {
		return `{"_meta":{` + members + `,` + rest
	}
	if strings.Contains(params, `"_meta"`) {
		t.Fatalf("params %s: want _meta in front", params)
	}
	rest := strings.TrimPrefix(params, "{")
	if rest != "}" {
		rest = "," + rest
	}
	return `{"_meta":{` + members + `}` + rest
}

// reply returns the response to the request of that id. What comes before it is
// held for read.
func (w *wire) reply(id string) message {
	w.t.Helper()
	for i, m := range w.held {
		if string(m.ID) == id && m.Method == "" {
			w.held = append(w.held[:i:i], w.held[i+1:]...)
			return m
		}
	}
	for {
		m := w.receive()
		if string(m.ID) == id && m.Method == "" {
			return m
		}
		w.held = append(w.held, m)
	}
}

// call sends a request and returns its response.
func (w *wire) call(method, params string) message {
	w.t.Helper()
	return w.reply(w.send(method, params))
}

// must is call for a request that succeeds. It returns the result.
func (w *wire) must(method, params string) jsontext.Value {
	w.t.Helper()
	m := w.call(method, params)
	if m.Error != nil || m.Result == nil {
		w.t.Fatalf("%s %s: got %s, want a result", method, params, m.raw)
	}
	return m.Result
}

// refused is call for a request that fails with the given number. It returns the
// error.
func (w *wire) refused(method, params string, code int) *wireError {
	w.t.Helper()
	m := w.call(method, params)
	if m.Error == nil || m.Error.Code != code {
		w.t.Fatalf("%s %s: got %s, want error %d", method, params, m.raw, code)
	}
	return m.Error
}

// note returns the next message, which has to be a notification of the method.
func (w *wire) note(method string) message {
	w.t.Helper()
	m := w.read()
	if m.Method != method || m.ID != nil {
		w.t.Fatalf("got %s, want %s", m.raw, method)
	}
	return m
}

// at, canonical and same are the functions of jsontest under the short names of these
// tests.
var at, canonical, same = jsontest.At, jsontest.Canonical, jsontest.Equal

func decoded[T any](t *testing.T, raw jsontext.Value) T {
	t.Helper()
	return jsontest.Decode[T](t, raw)
}

// encoded encodes a value.
func encoded(t *testing.T, v any) jsontext.Value {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("encode %v: %v", v, err)
	}
	return raw
}
