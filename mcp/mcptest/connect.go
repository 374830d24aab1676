package mcptest

import (
	"context"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Connect returns a client of the server, in memory, that is closed when the
// test ends. A nil Options is valid.
func Connect(tb testing.TB, s *mcpserver.Server, o *mcpclient.Options) *mcpclient.Client {
	tb.Helper()
	return connect(tb, mcpclient.Over(Dial(tb, s)), o)
}

// EachRevision runs a test once per revision, as a subtest of its name, with a
// client that speaks it to the server in memory.
func EachRevision(t *testing.T, s *mcpserver.Server, test func(t *testing.T, c *mcpclient.Client)) {
	t.Helper()
	for _, v := range mcp.Revisions() {
		t.Run(v.String(), func(t *testing.T) {
			test(t, Connect(t, s, &mcpclient.Options{Revisions: []mcp.Revision{v}}))
		})
	}
}

func connect(tb testing.TB, target mcpclient.Target, o *mcpclient.Options) *mcpclient.Client {
	tb.Helper()
	c, err := mcpclient.Connect(context.WithoutCancel(tb.Context()), target, o)
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Errorf("close the client: %v", err)
		}
	})
	return c
}
