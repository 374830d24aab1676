package mcpclient

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"math/rand/v2"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// maxHandlerDelay bounds the random delay before the handler of a changed list runs.
// Without the delay all clients of a server would list at the same moment.
const maxHandlerDelay = 250 * time.Millisecond

// receiveNotification updates the caches and queues the notification for its handler.
// It does not wait for the handler, but while the server sends too many.
func (c *Client) receiveNotification(m jsonrpc.Message) {
	c.awaitNotificationRate(m.Method)
	if stale := invalidatedBy[m.Method]; stale != nil {
		c.cache.Invalidate(stale...)
		c.surface.forget()
	}
	switch m.Method {
	case mcp.NotificationToolsListChanged:
		c.tools.clear()
	case mcp.NotificationElicitationComplete:
		c.elicitationCompleted(m.Params)
	case mcp.NotificationResourceUpdated:
		var p mcp.ResourceUpdatedParams
		if json.Unmarshal(m.Params, &p) == nil {
			c.invalidateResource(p.URI)
			c.markUpdated(p.URI)
		}
	}
	queued := c.notifications.Put(func() {
		r := &Request{Method: m.Method, Params: m.Params, Inbound: true, client: c, notification: true}
		if _, err := c.handle(c.ctx, r); err != nil {
			c.warnOfServer("", "notification of the server failed", "method", m.Method, "error", err)
		}
	}, len(m.Params))
	if !queued {
		c.reportLimit(mcp.LimitNotifications, m.Method)
	}
}

// handleNotification calls the handler of a notification, if there is one.
func (c *Client) handleNotification(method string, params jsontext.Value) error {
	switch method {
	case mcp.NotificationToolsListChanged, mcp.NotificationPromptsListChanged, mcp.NotificationResourcesListChanged:
		c.listChanged(method)
	case mcp.NotificationResourceUpdated:
		return c.resourceUpdated(params)
	case mcp.NotificationMessage:
		return c.logMessage(params)
	default:
		if h := c.opts.OnNotification; !c.handledByExtension(method, params) && h != nil {
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
	return func() { c.runHandler(method, func() { h(c.ctx, c) }) }
}

// listChanged calls the handler of the list once, after a random delay. Changes during
// the delay need no further call.
func (c *Client) listChanged(method string) {
	handler := c.listHandler(method)
	if handler == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.delayedHandlers[method] != nil {
		return
	}
	c.delayedHandlers[method] = time.AfterFunc(rand.N(maxHandlerDelay), func() {
		c.mu.Lock()
		delete(c.delayedHandlers, method)
		c.mu.Unlock()
		c.notifications.Put(handler, 0)
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

// logMessage calls Options.OnLog for a log message of the server.
func (c *Client) logMessage(params jsontext.Value) error {
	var p mcp.LoggingMessageParams
	if err := decodeParams(mcp.NotificationMessage, params, &p); err != nil {
		if _, unreadable := dialect.DecodeLenient(params, &p); unreadable != nil {
			return err
		}
	}
	if h := c.opts.OnLog; h != nil {
		h(c.ctx, &p)
	}
	return nil
}

// notificationsMissed makes all caches stale and calls all handlers of changes. It is
// called when notifications may have been lost.
func (c *Client) notificationsMissed(why error) {
	c.tools.clear()
	c.surface.forget()
	c.cache.NotificationsMissed()
	c.emit(Event{Kind: EventGap, Err: why})
	for _, method := range listMethods {
		c.listChanged(method)
	}
	c.markAllUpdated()
}

var listMethods = []string{
	mcp.NotificationToolsListChanged, mcp.NotificationPromptsListChanged, mcp.NotificationResourcesListChanged,
}
