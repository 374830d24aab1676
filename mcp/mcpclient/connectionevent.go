package mcpclient

// Event is a change of the connection.
type Event struct {
	Kind EventKind
	// Err is the reason of EventLost and EventGap, or nil if it is not known.
	Err error
}

// EventKind is the kind of an Event.
type EventKind string

// The kinds of event.
const (
	// EventConnected: Connect has succeeded.
	EventConnected EventKind = "connected"
	// EventLost: the connection or the session has ended.
	EventLost EventKind = "lost"
	// EventReinitialised: a new connection has replaced a lost one. The server has no
	// state of the old session.
	EventReinitialised EventKind = "reinitialised"
	// EventGap: notifications may have been missed. After it, the handlers of lists
	// that may have changed are called, and Watch yields its resources.
	EventGap EventKind = "gap"
)

// emit queues an event for Options.OnEvent.
func (c *Client) emit(e Event) {
	h := c.opts.OnEvent
	if h == nil {
		return
	}
	e.Err = withPublicErrors(e.Err)
	c.notifications.Put(func() { c.runHandler("OnEvent", func() { h(c.ctx, e) }) }, 0)
}
