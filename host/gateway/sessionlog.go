package gateway

import (
	"context"

	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// forwardLogTo returns a function that sends the log messages of a session's own connection
// to the session, if they belong to no call or do not say to which. It returns nil without a
// session: in the stateless era every log message belongs to a call.
func (u *upstream) forwardLogTo(session *mcpserver.Session) func(context.Context, *mcp.LoggingMessageParams) {
	if session == nil {
		return nil
	}
	return func(ctx context.Context, m *mcp.LoggingMessageParams) {
		if err := session.ForwardLog(ctx, m); err != nil {
			u.log.Info("logging: cannot send a message of the upstream", "error", err)
		}
	}
}

// relayLogLevels is middleware that sets the level of logging/setLevel at the upstreams of the
// session era, over the connections of the session, so that their log messages outside of calls
// have it at once. A shared connection keeps its level: its log messages are not relayed,
// because they may belong to another caller.
func (g *Gateway) relayLogLevels(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		result, err := next(ctx, r)
		if err != nil || r.Method() != mcp.MethodSetLevel {
			return result, err
		}
		var p mcp.SetLevelParams
		if r.Decode(&p) == nil && r.Session() != nil {
			for _, u := range g.list() {
				u.setSessionLevel(link.CallerOf(r), p.Level)
			}
		}
		return result, err
	}
}

// setSessionLevel has the connection of a caller set the level, if there is one. A connection
// that is made later sets it with its first call.
func (u *upstream) setSessionLevel(c link.Caller, level mcp.LoggingLevel) {
	if conn := u.pool.First(c); conn != nil {
		conn.SetSessionLevel(level)
	}
}
