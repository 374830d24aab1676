// Package wiretest tests servers with messages in raw JSON, in every revision.
package wiretest

import (
	"cmp"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// timeout limits the time for one message to be written or read.
const timeout = 2 * time.Minute

// Client is the client's end of a connection to a server. Its methods fail the test at once
// when the connection fails. It is not safe for concurrent use.
type Client struct {
	T    *testing.T
	Conn mcp.Conn
	// Revision and Capabilities are declared in each request of the stateless era. No
	// Capabilities means none.
	Revision     mcp.Revision
	Capabilities string
	// Held are the messages that were read while a method waited for another one.
	Held []Message

	lastID int
}

// Message is one message of the server.
type Message struct {
	Raw    string         `json:"-"`
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  *Error         `json:"error"`
}

// Error is the error of a response.
type Error struct {
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data"`
}

// Stateless reports whether a revision is of the stateless era.
func Stateless(r mcp.Revision) bool { return r.Stateless() }

// Initialize sets the revision and the capabilities, and opens a session where the revision
// has sessions.
func (c *Client) Initialize(r mcp.Revision, capabilities string) {
	c.T.Helper()
	c.Revision, c.Capabilities = r, capabilities
	if Stateless(r) {
		return
	}
	c.Must("initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"wire","version":"0"}}`, r, capabilities))
	c.Write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.Must("ping", "") // after its response the server has handled the notification
}

// Write writes one message.
func (c *Client) Write(msg string) {
	c.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := c.Conn.Write(ctx, []byte(msg)); err != nil {
		c.T.Fatalf("write %s: %v", msg, err)
	}
}

// Read returns the first of the held messages or, without one, the next message of the
// server.
func (c *Client) Read() Message {
	c.T.Helper()
	if len(c.Held) > 0 {
		m := c.Held[0]
		c.Held = c.Held[1:]
		return m
	}
	return c.Receive()
}

// Receive returns the next message of the server.
func (c *Client) Receive() Message {
	c.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	data, err := c.Conn.Read(ctx)
	if err != nil {
		c.T.Fatalf("read: %v", err)
	}
	m := Message{Raw: string(data)}
	if err := json.Unmarshal(data, &m); err != nil {
		c.T.Fatalf("read %s: %v", data, err)
	}
	return m
}

// Quiet fails the test if a message is held, or if the server sends one within a second. It
// needs fake time.
func (c *Client) Quiet() {
	c.T.Helper()
	for _, m := range c.Held {
		c.T.Errorf("got %s, want no message", m.Raw)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if data, err := c.Conn.Read(ctx); !errors.Is(err, context.DeadlineExceeded) {
		c.T.Errorf("got %s, %v, want no message", data, err)
	}
}

// Send sends a request in the form of the revision and returns its id.
func (c *Client) Send(method, params string) string {
	c.T.Helper()
	c.lastID++
	id := strconv.Itoa(c.lastID)
	c.Write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, c.Params(params)))
	return id
}

// Params returns params with the metadata that every request of the stateless era carries.
// Empty params are an empty object.
func (c *Client) Params(params string) string {
	c.T.Helper()
	if params == "" {
		params = "{}"
	}
	if !Stateless(c.Revision) {
		return params
	}
	return WithMeta(c.T, params, fmt.Sprintf(`"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":%s`, c.Revision, cmp.Or(c.Capabilities, "{}")))
}

// WithMeta returns params with more members in _meta. If params have a _meta, it must be
// their first member.
func WithMeta(t *testing.T, params, members string) string {
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

// Reply returns the response to the request with the id. Messages before it are held.
func (c *Client) Reply(id string) Message {
	c.T.Helper()
	for i, m := range c.Held {
		if string(m.ID) == id && m.Method == "" {
			c.Held = append(c.Held[:i:i], c.Held[i+1:]...)
			return m
		}
	}
	for {
		m := c.Receive()
		if string(m.ID) == id && m.Method == "" {
			return m
		}
		c.Held = append(c.Held, m)
	}
}

// Call sends a request and returns its response.
func (c *Client) Call(method, params string) Message {
	c.T.Helper()
	return c.Reply(c.Send(method, params))
}

// Must is Call for a request that must succeed. It returns the result.
func (c *Client) Must(method, params string) jsontext.Value {
	c.T.Helper()
	m := c.Call(method, params)
	if m.Error != nil || m.Result == nil {
		c.T.Fatalf("%s %s: got %s, want a result", method, params, m.Raw)
	}
	return m.Result
}

// Refused is Call for a request that must fail with the code. It returns the error.
func (c *Client) Refused(method, params string, code int) *Error {
	c.T.Helper()
	m := c.Call(method, params)
	if m.Error == nil || m.Error.Code != code {
		c.T.Fatalf("%s %s: got %s, want error %d", method, params, m.Raw, code)
	}
	return m.Error
}

// Notification returns the next message, which must be a notification of the method.
func (c *Client) Notification(method string) Message {
	c.T.Helper()
	m := c.Read()
	if m.Method != method || m.ID != nil {
		c.T.Fatalf("got %s, want %s", m.Raw, method)
	}
	return m
}
