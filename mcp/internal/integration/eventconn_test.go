package integration_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/sse"
)

// eventConn is a raw client of HTTP+SSE as a connection of messages: one
// connection brings the event stream, another takes one POST after the other.
// One goroutine writes at a time.
type eventConn struct {
	stream, posts net.Conn
	events        *sse.Reader
	answers       *bufio.Reader // to the POSTs
	endpoint      string
}

var _ mcp.Conn = (*eventConn)(nil)

func dialEvents(ctx context.Context, n *pipeNet) (_ *eventConn, err error) {
	c := new(eventConn)
	if c.stream, err = n.Dial(ctx); err != nil {
		return nil, err
	}
	if c.posts, err = n.Dial(ctx); err != nil {
		return nil, errors.Join(err, c.stream.Close())
	}
	c.answers = bufio.NewReader(c.posts)
	if err := c.open(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// open opens the event stream, whose first event names the endpoint.
func (c *eventConn) open() error {
	r, err := http.NewRequest(http.MethodGet, "http://localhost/sse", nil)
	if err != nil {
		return err
	}
	if err := r.Write(c.stream); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(c.stream), r)
	if err != nil {
		return err
	}
	c.events = sse.NewReader(resp.Body, 0)
	first, err := c.events.Next()
	if err == nil && first.Name != "endpoint" {
		err = fmt.Errorf("the first event is %q, want endpoint", first.Name)
	}
	c.endpoint = "http://localhost" + string(first.Data)
	return err
}

// Write implements mcp.Conn. It returns when the server has taken the message.
func (c *eventConn) Write(_ context.Context, msg []byte) error {
	r, err := http.NewRequest(http.MethodPost, c.endpoint, strings.NewReader(string(msg)))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if err := r.Write(c.posts); err != nil {
		return err
	}
	return accepted(c.answers, r)
}

// Read implements mcp.Conn.
func (c *eventConn) Read(ctx context.Context) ([]byte, error) {
	defer context.AfterFunc(ctx, func() { _ = c.stream.Close() })()
	ev, err := c.events.Next()
	return ev.Data, err
}

// Close implements mcp.Conn.
func (c *eventConn) Close() error { return errors.Join(c.stream.Close(), c.posts.Close()) }

// accepted reads the answer to a POST of a message that has no reply there.
func accepted(from *bufio.Reader, r *http.Request) error {
	resp, err := http.ReadResponse(from, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		return fmt.Errorf("status %d, want 202", resp.StatusCode)
	}
	return nil
}
