package load

import (
	"bytes"
	"fmt"

	"github.com/fondaco/fondaco/bench/internal/contest"
	"github.com/fondaco/fondaco/mcp"
)

// The handshake of the session era.
var (
	initialize = fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,`+
		`"capabilities":{},"clientInfo":{"name":"bench","version":"1.0.0"}}}`, mcp.V20251125)
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// openSessions opens n sessions over one connection and returns their ids.
func openSessions(host string, n int) ([]string, error) {
	c, err := dial(host)
	if err != nil {
		return nil, err
	}
	defer c.close()
	ids := make([]string, n)
	for i := range ids {
		if ids[i], err = c.openSession(host); err != nil {
			return nil, fmt.Errorf("open session %d: %w", i, err)
		}
	}
	return ids, nil
}

func (c *conn) openSession(host string) (id string, err error) {
	body, err := c.do(post(host, "25", "initialize", "", "", initialize), nil)
	if err != nil {
		return "", err
	}
	id = c.header("Mcp-Session-Id")
	if c.status != 200 || id == "" {
		return "", fmt.Errorf("initialize: status %d, %.200s", c.status, body)
	}
	body, err = c.do(post(host, "25", "notifications/initialized", "", id, initialized), nil)
	if err == nil && c.status != 202 && c.status != 200 {
		err = fmt.Errorf("initialized: status %d, %.200s", c.status, body)
	}
	return id, err
}

// openStream opens the stream of a session.
func (c *conn) openStream(host, session string) error {
	request := fmt.Sprintf("GET /mcp HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n"+
		"MCP-Protocol-Version: %s\r\nMcp-Session-Id: %s\r\n\r\n", host, mcp.V20251125, session)
	body, err := c.do(request, func() bool { return true })
	if err == nil && c.status != 200 {
		err = fmt.Errorf("status %d, %.200s", c.status, body)
	}
	return err
}

// subscribe subscribes the session to updates of the item.
func (c *conn) subscribe(host, session string) error {
	request := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":%q}}`, contest.Item)
	body, err := c.do(post(host, "25", "resources/subscribe", "", session, request), nil)
	if err == nil && (c.status != 200 || bytes.Contains(body, []byte(`"error"`))) {
		err = fmt.Errorf("subscribe: status %d, %.200s", c.status, body)
	}
	return err
}

// listen opens a stream of the stateless era that receives updates of the item.
func (c *conn) listen(host string) error {
	request := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":`+
		`{"toolsListChanged":true,"resourceSubscriptions":[%q]},%s}}`, contest.Item, meta)
	body, err := c.do(post(host, "26", "subscriptions/listen", "", "", request), func() bool {
		return bytes.Contains(c.buf[c.head:c.n], []byte("notifications/subscriptions/acknowledged"))
	})
	if err == nil && (c.status != 200 || body != nil) {
		err = fmt.Errorf("status %d, %.200s", c.status, body)
	}
	return err
}
