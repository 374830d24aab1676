package gateway

import (
	"github.com/fondaco/fondaco/host/gateway/link"
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
		connections += u.pool.EndCallers(func(c link.Caller) bool { return c.Session == nil && match(c.Principal, nil) })
	}
	return sessions, connections
}

// HasCallerConnections reports whether callers may have connections of their own.
func (g *Gateway) HasCallerConnections() bool {
	for _, u := range g.list() {
		if !u.Settings.Share {
			return true
		}
	}
	return false
}
