package mcptest

import (
	"context"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Between returns a server that serves its connections through wrap: with Grease,
// Disturb or Record the test of a server has its end of the connection treated
// so.
func Between(s mcpclient.Server, wrap func(mcp.Conn) mcp.Conn) mcpclient.Server {
	return between{s, wrap}
}

type between struct {
	server mcpclient.Server
	wrap   func(mcp.Conn) mcp.Conn
}

// Serve implements mcpclient.Server.
func (b between) Serve(ctx context.Context, conn mcp.Conn) error {
	return b.server.Serve(ctx, b.wrap(conn))
}
