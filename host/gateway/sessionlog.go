package gateway

import (
	"context"

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
