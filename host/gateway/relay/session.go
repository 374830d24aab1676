package relay

import (
	"context"

	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
)

// ForwardLog sends a log message of a session's own connection to the session, if the message belongs to no
// call or does not say to which. In the stateless era every log message belongs to a call.
func (rl *Relay) ForwardLog(ctx context.Context, conn *link.Conn, m *mcp.LoggingMessageParams) {
	conn.Heard()
	if err := conn.Session.ForwardLog(ctx, m); err != nil {
		rl.Log.Info("logging: cannot send a message of the upstream", "error", err)
	}
}

// SetSessionLevel has the connection of a caller set the level, if there is one. A connection
// that is made later sets it with its first call.
func (rl *Relay) SetSessionLevel(c link.Caller, level mcp.LoggingLevel) {
	if conn := rl.Pool.First(c); conn != nil {
		conn.SetSessionLevel(level)
	}
}

// RootsChanged notifies the upstream that the roots of a caller have changed, if it has a connection.
func (rl *Relay) RootsChanged(ctx context.Context, c link.Caller) {
	if conn := rl.Pool.First(c); conn != nil {
		rl.notifyRoots(ctx, conn)
	}
}

// notifyRoots notifies the upstream on one connection that the roots have changed.
func (rl *Relay) notifyRoots(ctx context.Context, conn *link.Conn) {
	if client := conn.Client(); client != nil {
		if err := client.RootsChanged(ctx); err != nil {
			rl.Log.Info("roots: cannot notify the upstream of the change", "error", err)
		}
	}
}
