package interop_test

import (
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
)

// Package mcp-remote connects a client over stdio to a server over HTTP.
const mcpRemote = "node_modules/mcp-remote/dist/proxy.js"

func TestForeignClientBehindMCPRemote(t *testing.T) {
	needPeers(t)
	t.Parallel()
	fixture := server{addr: serveFixture(t)}
	command := strings.Join([]string{"stdio:node", mcpRemote, fixture.url("http"), "--transport", "http-only"}, " ")
	visitForeign(t, "1", command, mcp.V20251125, fixturePlan("grown-remote"), nil)
}
