package link

import (
	"time"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// cancelledCallTime is how long a server may still ask in a call that was cancelled.
const cancelledCallTime = 30 * time.Second

// requester identifies the client of a request as well as the stateless era allows: by its
// connection, and over HTTP by the name and version that it claims. The principal is that of
// the connection to the upstream.
type requester struct {
	connection    mcpserver.Connection
	name, version string
}

func requesterOf(r *mcpserver.Request) requester {
	if c := r.Connection(); c != (mcpserver.Connection{}) {
		return requester{connection: c}
	}
	client, _ := r.Client()
	return requester{name: client.Name, version: client.Version}
}

// isKnown reports whether two requests of the requester are of one client.
func (r requester) isKnown() bool { return r != requester{} }

// cancelledCalls are the calls on a connection that were cancelled while the server of the
// session era may still have worked on them, by their clients. A question of the server does
// not say in which call it asks, so it may be one of these calls. Such a call counts as one
// that is under way, until cancelledCallTime is over: other clients of the principal use
// another connection, and only the client itself can be asked. The connection stays, because
// its server may keep state for the caller.
type cancelledCalls struct{ until map[requester]time.Time }

// maxCancelledCalls limits the clients that are remembered for one connection. Further ones
// count as unknown, so that no client is taken for one of them.
const maxCancelledCalls = 64

// add notes that a call of a client was cancelled.
func (c *cancelledCalls) add(r *mcpserver.Request) {
	c.expire()
	if c.until == nil {
		c.until = make(map[requester]time.Time)
	}
	from := requesterOf(r)
	if _, known := c.until[from]; !known && len(c.until) >= maxCancelledCalls {
		from = requester{}
	}
	c.until[from] = time.Now().Add(cancelledCallTime)
}

// areOf reports whether all of the calls are certainly of the client of a request.
func (c *cancelledCalls) areOf(r *mcpserver.Request) bool {
	c.expire()
	from := requesterOf(r)
	for other := range c.until {
		if other != from || !from.isKnown() {
			return false
		}
	}
	return true
}

func (c *cancelledCalls) expire() {
	now := time.Now()
	for from, until := range c.until {
		if !now.Before(until) {
			delete(c.until, from)
		}
	}
}
