package mcpclient

import (
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// SessionEvent is the begin or the end of a connection, see Options.OnSession.
type SessionEvent struct {
	// Ended is false at the begin and true at the end.
	Ended bool
	// Lasted is the time from the begin to the end. It is 0 at the begin.
	Lasted time.Duration
	// Revision is the revision of the connection.
	Revision mcp.Revision
}

// reportSession calls Options.OnSession for the begin of a connection, and returns a function that
// calls it for the end.
func (k *connection) reportSession() (end func()) {
	f := k.client.opts.OnSession
	if f == nil {
		return func() {}
	}
	began := time.Now()
	k.client.runHandler("OnSession", func() { f(SessionEvent{Revision: k.dialect().Facts.Revision}) })
	return func() {
		k.client.runHandler("OnSession", func() {
			f(SessionEvent{Ended: true, Lasted: time.Since(began), Revision: k.dialect().Facts.Revision})
		})
	}
}

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
