package mcpclient

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"math/rand/v2"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// spread is the time over which the handlers of many clients that hear the same
// news are spread.
const spread = 250 * time.Millisecond

// notified takes one notification of the server. It returns at once.
func (c *Client) notified(m jsonrpc.Message) {
	c.cache.forget(changedBy[m.Method]...)
	switch m.Method {
	case mcp.NotificationToolsListChanged:
		c.tools.forget()
	case mcp.NotificationElicitationComplete:
		c.visitDone(m.Params)
	case mcp.NotificationResourceUpdated:
		var p mcp.ResourceUpdatedParams
		if json.Unmarshal(m.Params, &p) == nil {
			c.cache.forgetResource(p.URI)
			c.markUpdated(p.URI)
		}
	}
	fits := c.notes.Put(func() {
		r := &Request{Method: m.Method, Params: m.Params, Inbound: true, client: c, note: true}
		if _, err := c.middleware.receive(c.ctx, r); err != nil {
			c.opts.logger().Warn("notification of the server failed", "method", m.Method, "error", err)
		}
	}, len(m.Params))
	if !fits {
		c.reached(mcp.LimitNotifications, m.Method)
	}
}

// hear hands a notification to its handler, if there is one.
func (c *Client) hear(method string, params jsontext.Value) error {
	switch method {
	case mcp.NotificationToolsListChanged, mcp.NotificationPromptsListChanged, mcp.NotificationResourcesListChanged:
		c.listChanged(method)
	case mcp.NotificationResourceUpdated:
		return c.resourceUpdated(params)
	case mcp.NotificationMessage:
		return c.logged(params)
	default:
		if h := c.opts.OnNotification; !c.hearExtended(method, params) && h != nil {
			h(c.ctx, method, params)
		}
	}
	return nil
}

// listHandler returns the handler for changes of one list, or nil.
func (c *Client) listHandler(method string) func() {
	h := c.opts.OnResourcesChanged
	switch method {
	case mcp.NotificationToolsListChanged:
		h = c.opts.OnToolsChanged
	case mcp.NotificationPromptsListChanged:
		h = c.opts.OnPromptsChanged
	}
	if h == nil {
		return nil
	}
	return func() { c.guard(method, func() { h(c.ctx, c) }) }
}

// listChanged calls the handler for the list a little later, and once for all
// changes until then.
func (c *Client) listChanged(method string) {
	handler := c.listHandler(method)
	if handler == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.spreads[method] != nil {
		return
	}
	c.spreads[method] = time.AfterFunc(rand.N(spread), func() {
		c.mu.Lock()
		delete(c.spreads, method)
		c.mu.Unlock()
		c.notes.Put(handler, 0)
	})
}

func (c *Client) resourceUpdated(params jsontext.Value) error {
	var p mcp.ResourceUpdatedParams
	if err := decodeParams(mcp.NotificationResourceUpdated, params, &p); err != nil {
		return err
	}
	if h := c.opts.OnResourceUpdated; h != nil {
		h(c.ctx, c, p.URI)
	}
	return nil
}

func (c *Client) logged(params jsontext.Value) error {
	var p mcp.LoggingMessageParams
	if err := decodeParams(mcp.NotificationMessage, params, &p); err != nil {
		return err
	}
	if h := c.opts.OnLog; h != nil {
		h(c.ctx, &p)
	}
	return nil
}

// missed tells everybody that changes may have gone unheard.
func (c *Client) missed(why error) {
	c.tools.forget()
	c.cache.forgetAll()
	c.emit(Event{Kind: EventGap, Err: why})
	for _, method := range listMethods {
		c.listChanged(method)
	}
	c.markAllUpdated()
}

var listMethods = []string{
	mcp.NotificationToolsListChanged, mcp.NotificationPromptsListChanged, mcp.NotificationResourcesListChanged,
}
