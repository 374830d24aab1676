package mcpware

import (
	"slices"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// methods are the methods that middleware applies to. An empty list matches
// every method.
type methods []string

// match reports whether middleware of a server applies to the request.
func (m methods) match(r *mcpserver.Request) bool {
	if r.Outbound() || r.Method() == mcp.MethodListen || strings.HasPrefix(r.Method(), "notifications/") {
		return false
	}
	return len(m) == 0 || slices.Contains(m, r.Method())
}
