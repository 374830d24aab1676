package interop_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// caller is a client, its transport and the revision that it negotiates.
type caller struct {
	sdk      string // the argument of client.mjs, or "ours"
	over     string // stdio, http or sse
	revision mcp.Revision
}

var foreignClients = []caller{
	{"2", "http", mcp.V20260728},
	{"2", "stdio", mcp.V20260728},
	{"2-modern", "http", mcp.V20260728},
	{"2-modern", "stdio", mcp.V20260728},
	{"2-legacy", "http", mcp.V20251125},
	{"2-legacy", "stdio", mcp.V20251125},
	{"2-legacy", "sse", mcp.V20251125},
	{"1", "http", mcp.V20251125},
	{"1", "stdio", mcp.V20251125},
	{"1", "sse", mcp.V20251125},
}

var ourClients = []caller{
	{"ours", "http", mcp.V20260728},
	{"ours", "http", mcp.V20251125},
	{"ours", "sse", mcp.V20241105},
}

// remote returns the callers that do not start the server themselves.
func remote(all []caller) []caller {
	return slices.DeleteFunc(slices.Clone(all), func(c caller) bool { return c.over == "stdio" })
}

func (c caller) String() string { return c.sdk + " " + c.revision.String() + " over " + c.over }

// slug returns words as a name, for what a client adds to a server.
func slug(words string) string { return strings.ReplaceAll(words, " ", "-") }

// server is one of our servers.
type server struct {
	addr    string // for http and sse
	program string // for stdio
}

// visit runs the steps of a plan with a server and checks the results.
func (c caller) visit(t *testing.T, s server, p plan, l lacks) {
	t.Helper()
	switch {
	case c.sdk == "ours":
		visit(t, mcpclient.URL(s.url(c.over)), c.revision, p, l)
	case c.over == "stdio":
		visitForeign(t, c.sdk, "stdio:"+s.program, c.revision, p, l)
	case c.over == "sse":
		visitForeign(t, c.sdk, "sse+"+s.url("sse"), c.revision, p, l)
	default:
		visitForeign(t, c.sdk, s.url("http"), c.revision, p, l)
	}
}

func (s server) url(over string) string {
	return "http://" + s.addr + map[string]string{"http": "/mcp", "sse": "/sse"}[over]
}
