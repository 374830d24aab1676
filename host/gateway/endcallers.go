package gateway

import (
	"slices"

	"github.com/fondaco/fondaco/mcp"
)

// EndCallers ends the sessions of the callers that match, and closes the connections to
// upstreams that they have of their own, with the processes of these. Calls that run there
// are cancelled. match gets the principal, and what the client has declared about itself
// in a session, else nil. The result counts sessions and connections. Requests of the
// stateless era over HTTP are ended by the caller, see mcpserver.Server.EndSessions.
func (g *Gateway) EndCallers(match func(mcp.Principal, *mcp.Implementation) bool) (sessions, connections int) {
	sessions = g.server.EndSessions(match) // which closes the connections of these sessions
	for _, u := range g.list() {
		connections += u.endCallers(func(c caller) bool { return c.session == nil && match(c.principal, nil) })
	}
	return sessions, connections
}

// endCallers closes the caller connections of the callers that match. Each removes itself
// when it has ended.
func (u *upstream) endCallers(match func(caller) bool) (ended int) {
	for c, conns := range u.cloneCallerConnections() {
		if !match(c) {
			continue
		}
		for _, conn := range conns {
			if conn != nil {
				conn.close()
				ended++
			}
		}
	}
	return ended
}

func (u *upstream) cloneCallerConnections() map[caller][]*connection {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := make(map[caller][]*connection, len(u.callerConnections))
	for c, conns := range u.callerConnections {
		all[c] = slices.Clone(conns)
	}
	return all
}

// close closes the connection of a caller, whether it is in use or not.
func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.cancel()
}
