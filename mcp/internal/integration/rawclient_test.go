package integration_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/stdio"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// wire is a transport over which clients reach one server.
type wire struct {
	name     string
	revision mcp.Revision
	posts    bool // each message is an HTTP request of its own
	serve    func(t *testing.T, s *mcpserver.Server) way
}

// way is how to reach one server that is served.
type way struct {
	// dial makes a connection for a client that chooses its ids itself.
	dial func() (mcp.Conn, error)
	// target is for our own clients, which reach it by web where it is HTTP.
	target mcpclient.Target
	web    *http.Client
}

var wires = []wire{
	{"memory", mcp.V20260728, false, serveMemory},
	{"stdio framing", mcp.V20250618, false, serveStreams},
	{"Streamable HTTP", mcp.V20260728, true, servePosts(mcp.V20260728)},
	{"Streamable HTTP with sessions", mcp.V20251125, true, servePosts(mcp.V20251125)},
	{"HTTP+SSE", mcp.V20250326, false, serveEventStream},
}

func (w wire) stateless() bool { return w.revision == mcp.V20260728 }

// eachWire runs a test once per transport, one after the other.
func eachWire(t *testing.T, test func(t *testing.T, w wire)) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) { test(t, w) })
	}
}

func serveMemory(t *testing.T, s *mcpserver.Server) way {
	dial := func() (mcp.Conn, error) { return mcptest.Dial(t, s), nil }
	return way{dial: dial, target: mcpclient.InProcess(s)}
}

// serveStreams serves byte streams with the framing of stdio.
func serveStreams(t *testing.T, s *mcpserver.Server) way {
	dial := func() (mcp.Conn, error) {
		ours, theirs := net.Pipe()
		served := make(chan error, 1)
		go func() { served <- s.ServeStream(context.Background(), theirs) }()
		t.Cleanup(func() {
			_ = ours.Close()
			if err := <-served; err != nil {
				t.Errorf("serve: %v", err)
			}
		})
		return stdio.New(ours, ours, ours, nil), nil
	}
	return way{dial: dial, target: mcpclient.Dial(func(context.Context) (mcp.Conn, error) { return dial() })}
}

func servePosts(v mcp.Revision) func(*testing.T, *mcpserver.Server) way {
	return func(t *testing.T, s *mcpserver.Server) way {
		n := serveWeb(t, s)
		dial := func() (mcp.Conn, error) { return newPostConn(n, v), nil }
		return way{dial: dial, target: mcpclient.URL("http://localhost/mcp"), web: n.client()}
	}
}

func serveEventStream(t *testing.T, s *mcpserver.Server) way {
	n := serveWeb(t, s)
	dial := func() (mcp.Conn, error) { return dialEvents(t.Context(), n) }
	return way{dial: dial, target: mcpclient.EventStream("http://localhost/sse"), web: n.client()}
}

// rawClient sends and reads messages. It may be used on any goroutine, one that
// sends and one that reads at a time.
type rawClient struct {
	wire wire
	conn mcp.Conn
	ctx  context.Context
}

// message is what a server sends.
type message struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params struct {
		Token   jsontext.Value `json:"progressToken"`
		Message string         `json:"message"`
		Data    struct {
			Message string `json:"msg"`
		} `json:"data"`
	} `json:"params"`
	Result struct {
		Content mcp.Contents `json:"content"`
		IsError bool         `json:"isError"`
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    struct {
			Supported jsontext.Value `json:"supported"`
		} `json:"data"`
	} `json:"error"`
}

// connectRaw connects and, in the session era, opens the session. The client is
// closed when the test ends.
func connectRaw(ctx context.Context, t *testing.T, w wire, to way) (*rawClient, error) {
	conn, err := to.dial()
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = conn.Close() })
	c := &rawClient{w, conn, ctx}
	if w.stateless() {
		return c, nil
	}
	err = c.send(`{"jsonrpc":"2.0","id":"begin","method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"raw","version":"0"}}}`, w.revision)
	if err == nil {
		_, err = c.reply(`"begin"`)
	}
	if err == nil {
		err = c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	if w.posts && err == nil {
		err = conn.(*postConn).listen()
	}
	return c, err
}

func (c *rawClient) send(format string, args ...any) error {
	return c.conn.Write(c.ctx, fmt.Appendf(nil, format, args...))
}

// call sends a call of a tool under an id that is its progress token too. It
// wants log messages.
func (c *rawClient) call(id int, tool string, args any) error {
	arguments, err := json.Marshal(args)
	if err != nil {
		return err
	}
	meta := fmt.Sprintf(`"progressToken":%d`, id)
	if c.wire.stateless() {
		meta += "," + c.statelessMeta()
	}
	return c.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":{%s},"name":%q,"arguments":%s}}`, id, meta, tool, arguments)
}

// statelessMeta is what a request of the stateless era says of its client.
func (c *rawClient) statelessMeta() string {
	return fmt.Sprintf(`"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"info"`, c.wire.revision)
}

// listen asks to hear of changes of the tools, as a session does anyway.
func (c *rawClient) listen() error {
	if !c.wire.stateless() {
		return nil
	}
	err := c.send(`{"jsonrpc":"2.0","id":"listen","method":"subscriptions/listen","params":{"_meta":{%s},"notifications":{"toolsListChanged":true}}}`, c.statelessMeta())
	if err != nil {
		return err
	}
	return c.await(mcp.NotificationAcknowledged)
}

// await reads until a notification of the method has come.
func (c *rawClient) await(method string) error {
	for {
		m, err := c.next()
		if err != nil || m.Method == method {
			return err
		}
	}
}

// cancel sends the notification that cancels a request of that id.
func (c *rawClient) cancel(id int) error {
	return c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)
}

// giveUp ends a call of the client's own in the way of the transport.
func (c *rawClient) giveUp(id int) error {
	if c.wire.posts && c.wire.stateless() {
		c.conn.(*postConn).hangUp(strconv.Itoa(id))
		return nil
	}
	return c.cancel(id)
}

func (c *rawClient) next() (message, error) {
	var m message
	data, err := c.conn.Read(c.ctx)
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	return m, err
}

// reply reads until the response to the request of that id has come.
func (c *rawClient) reply(id string) (message, error) {
	for {
		m, err := c.next()
		if err != nil || m.Method == "" && string(m.ID) == id {
			return m, err
		}
	}
}
