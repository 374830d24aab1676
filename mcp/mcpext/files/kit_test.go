package files_test

import (
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
	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestMain(m *testing.M) { leak.Main(m) }

func isModern(r mcp.Revision) bool { return r == mcp.V20260728 }

// eachEra runs a test once for each era, in fake time.
func eachEra(t *testing.T, test func(t *testing.T, r mcp.Revision)) {
	t.Helper()
	t.Parallel()
	for _, r := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, r) })
		})
	}
}

// newServer returns a server that logs nothing.
func newServer() *mcpserver.Server {
	return mcpserver.New("test", "1", &mcpserver.Options{Logger: slog.New(slog.DiscardHandler)})
}

// hidden is the option that hides a feature from the clients of these tests.
func hidden() mcpserver.Option {
	return mcpserver.Visible(func(p mcp.Principal) bool { return p != mcp.PrincipalLocal })
}

// panicText returns what f panics with.
func panicText(t *testing.T, f func()) (text string) {
	t.Helper()
	defer func() {
		v := recover()
		if v == nil {
			t.Error("got no panic, want one")
		}
		text = fmt.Sprint(v)
	}()
	f()
	return ""
}

// wire is the client's end of a connection to a server, in raw JSON.
type wire struct {
	t        *testing.T
	conn     mcp.Conn
	revision mcp.Revision
	last     int
	held     []message // read while waiting for something else
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
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// dial connects a client that speaks a revision and has made itself known.
func dial(t *testing.T, srv *mcpserver.Server, r mcp.Revision) *wire {
	t.Helper()
	w := &wire{t: t, conn: mcptest.Dial(t, srv), revision: r}
	if !isModern(r) {
		w.must("initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"wire","version":"0"}}`, r))
		w.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		w.must("ping", "") // the notification has been taken
	}
	return w
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

// params adds the metadata that a request of the stateless era has.
func (w *wire) params(params string) string {
	if params == "" {
		params = "{}"
	}
	if !isModern(w.revision) {
		return params
	}
	meta := fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{}}`, w.revision)
	rest := strings.TrimPrefix(params, "{")
	if rest != "}" {
		rest = "," + rest
	}
	return meta + rest
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

// at and same are the functions of jsontest under the short names of these tests.
var at, same = jsontest.At, jsontest.Equal

func decoded[T any](t *testing.T, raw jsontext.Value) T {
	t.Helper()
	return jsontest.Decode[T](t, raw)
}

// watch subscribes to one resource in the way of the revision.
func watch(w *wire, uri string) {
	w.t.Helper()
	if isModern(w.revision) {
		w.send("subscriptions/listen", fmt.Sprintf(`{"notifications":{"resourceSubscriptions":[%q]}}`, uri))
		w.note("notifications/subscriptions/acknowledged")
		return
	}
	w.must("resources/subscribe", fmt.Sprintf(`{"uri":%q}`, uri))
}

// watchLists asks to hear of changes of all lists, where one has to ask.
func watchLists(w *wire) {
	w.t.Helper()
	if isModern(w.revision) {
		w.send("subscriptions/listen", `{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}}`)
		w.note("notifications/subscriptions/acknowledged")
	}
}
