package mcpware

import (
	"slices"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// methods are those that middleware is about. None are all.
type methods []string

// match reports whether middleware of a server is about the request.
func (m methods) match(r *mcpserver.Request) bool {
	if r.Outbound || r.Method == mcp.MethodListen || strings.HasPrefix(r.Method, "notifications/") {
		return false
	}
	return len(m) == 0 || slices.Contains(m, r.Method)
}
