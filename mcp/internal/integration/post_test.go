package integration_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/sse"
)

// postConn is a raw client of Streamable HTTP as a connection of messages: each
// message goes out as a POST of its own, on a connection of its own, and what
// the answers hold comes in.
type postConn struct {
	net      *pipeNet
	revision mcp.Revision
	in       chan []byte
	ctx      context.Context
	cancel   context.CancelFunc
	work     sync.WaitGroup

	mu      sync.Mutex
	session string
	posts   map[string]net.Conn // by id of the request that is under way
}

var _ mcp.Conn = (*postConn)(nil)

func newPostConn(n *pipeNet, v mcp.Revision) *postConn {
	c := &postConn{net: n, revision: v, in: make(chan []byte), posts: make(map[string]net.Conn)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// outline is what the headers of a POST say of its message.
type outline struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params struct {
		Name string `json:"name"`
	} `json:"params"`
}

// Write implements mcp.Conn. It returns when the request has gone out, and for a
// notification when it has been answered.
func (c *postConn) Write(ctx context.Context, msg []byte) error {
	var o outline
	if err := json.Unmarshal(msg, &o); err != nil {
		return err
	}
	r, err := c.request(msg, o)
	if err != nil {
		return err
	}
	conn, err := c.net.Dial(ctx)
	if err != nil {
		return err
	}
	if err := r.Write(conn); err != nil {
		_ = conn.Close()
		return err
	}
	if o.ID == nil {
		defer conn.Close()
		return accepted(bufio.NewReader(conn), r)
	}
	c.begin(string(o.ID), conn)
	c.work.Go(func() {
		defer c.end(string(o.ID), conn)
		if err := c.answer(conn, r); err != nil && c.ctx.Err() == nil {
			c.deliver(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":0,"message":%q}}`, o.ID, err))
		}
	})
	return nil
}

func (c *postConn) request(msg []byte, o outline) (*http.Request, error) {
	r, err := http.NewRequest(http.MethodPost, "http://localhost/mcp", bytes.NewReader(msg))
	if err != nil {
		return nil, err
	}
	set := func(name, value string) {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	set("Content-Type", "application/json")
	set("Accept", "application/json, text/event-stream")
	c.mu.Lock()
	set("Mcp-Session-Id", c.session)
	c.mu.Unlock()
	if o.Method != mcp.MethodInitialize {
		set("Mcp-Protocol-Version", c.revision.String())
		set("Mcp-Method", o.Method)
		set("Mcp-Name", o.Params.Name)
	}
	return r, nil
}

func (c *postConn) begin(id string, conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.posts[id] = conn
	if c.ctx.Err() != nil {
		_ = conn.Close()
	}
}

func (c *postConn) end(id string, conn net.Conn) {
	_ = conn.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.posts, id)
}

// hangUp breaks off the request of that id.
func (c *postConn) hangUp(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.posts[id].Close()
}

// answer delivers the messages of one answer.
func (c *postConn) answer(conn net.Conn, r *http.Request) error {
	resp, err := http.ReadResponse(bufio.NewReader(conn), r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		c.mu.Lock()
		c.session = id
		c.mu.Unlock()
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return c.follow(resp.Body)
	}
	body, err := io.ReadAll(resp.Body)
	if err == nil {
		c.deliver(body)
	}
	return err
}

func (c *postConn) follow(body io.Reader) error {
	for events := sse.NewReader(body, 0); ; {
		ev, err := events.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if len(ev.Data) > 0 {
			c.deliver(ev.Data)
		}
	}
}

// listen opens the stream for what belongs to no request, and returns when the
// server has.
func (c *postConn) listen() error {
	r, err := http.NewRequest(http.MethodGet, "http://localhost/mcp", nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Mcp-Session-Id", c.session)
	conn, err := c.net.Dial(c.ctx)
	if err != nil {
		return err
	}
	c.begin(http.MethodGet, conn)
	if err := r.Write(conn); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), r)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET: status %d, want 200", resp.StatusCode)
	}
	c.work.Go(func() {
		defer c.end(http.MethodGet, conn)
		_ = c.follow(resp.Body)
	})
	return nil
}

func (c *postConn) deliver(msg []byte) {
	select {
	case c.in <- msg:
	case <-c.ctx.Done():
	}
}

func (c *postConn) Read(ctx context.Context) ([]byte, error) {
	select {
	case msg := <-c.in:
		return msg, nil
	case <-c.ctx.Done():
		return nil, io.EOF
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (c *postConn) Close() error {
	c.cancel()
	c.mu.Lock()
	for _, conn := range c.posts {
		_ = conn.Close()
	}
	c.mu.Unlock()
	c.work.Wait()
	return nil
}
