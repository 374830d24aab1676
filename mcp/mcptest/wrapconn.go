package mcptest

import (
	"context"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// WrapConn returns a server that serves its connections through wrap: with Grease,
// InjectFaults or Record, a test applies them to the connections of a server.
func WrapConn(s mcpclient.Server, wrap func(mcp.Conn) mcp.Conn) mcpclient.Server {
	return wrapped{s, wrap}
}

type wrapped struct {
	server mcpclient.Server
	wrap   func(mcp.Conn) mcp.Conn
}

// Serve implements mcpclient.Server.
func (w wrapped) Serve(ctx context.Context, conn mcp.Conn) error {
	return w.server.Serve(ctx, w.wrap(conn))
}
