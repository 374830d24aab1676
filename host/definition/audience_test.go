package definition_test

import (
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

func withElicitation(all ...mcp.Tool) host.Listing {
	l := tools(all...)
	l.Capabilities = "elicitation"
	return l
}

// A tool that is not the same for all clients is approved in each of its forms: neither takes
// the place of the other.
func TestToolThatDiffersBetweenClientsKeepsItsApprovals(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218b")
	s, u := newStore(), server("")
	plain, more := tool("read", "Read"), tool("read", "Read, and ask")
	want(t, s, u, tools(plain), "read", "")
	want(t, s, u, withElicitation(more), "read", "")
	want(t, s, u, tools(plain), "read", "")
	want(t, s, u, withElicitation(more), "read", "")

	changed := tool("read", "Read all")
	want(t, s, u, tools(changed), "", "changed read")
	want(t, s, u, withElicitation(more), "read", "")
	approve(t, s, u)
	want(t, s, u, tools(changed), "read", "")
	want(t, s, u, withElicitation(more), "read", "")
	want(t, s, u, tools(changed), "read", "")

	want(t, s, u, tools(plain), "", "changed read") // was replaced
}
