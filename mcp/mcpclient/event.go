package mcpclient

// Event is something that happened to the connection.
type Event struct {
	Kind EventKind
	// Err is the reason of EventLost and of EventGap, if there is one to tell.
	Err error
}

// EventKind tells what happened.
type EventKind string

// The kinds of event.
const (
	// EventConnected: Connect has succeeded.
	EventConnected EventKind = "connected"
	// EventLost: the connection or the session has ended.
	EventLost EventKind = "lost"
	// EventReinitialised: a lost connection was made anew. What the server knew
	// of the old session it has forgotten.
	EventReinitialised EventKind = "reinitialised"
	// EventGap: notifications may have been missed. Handlers of lists that may
	// have changed are called, and watchers told, after it.
	EventGap EventKind = "gap"
)

// emit tells the handler of events, in their order.
func (c *Client) emit(e Event) {
	h := c.opts.OnEvent
	if h == nil {
		return
	}
	e.Err = withPublicErrors(e.Err)
	c.notes.Put(func() { c.guard("OnEvent", func() { h(c.ctx, e) }) }, 0)
}
