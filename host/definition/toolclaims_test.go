package definition_test

import (
	"slices"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

func TestToolsAreToldApartByTheClaimOfTheirServer(t *testing.T) {
	t.Parallel()
	s, u := newStore(), server(host.TrustBaseline)
	want := func(count int, others ...string) {
		t.Helper()
		n, names, err := s.ToolClaims(t.Context(), u)
		if err != nil || n != count || !slices.Equal(names, others) {
			t.Errorf("got %d, %q, %v, want %d, %q", n, names, err, count, others)
		}
	}
	annotated := func(name string, a *mcp.ToolAnnotations) mcp.Tool {
		described := tool(name, "text")
		described.Annotations = a
		return described
	}
	want(0)
	look := annotated("look", &mcp.ToolAnnotations{ReadOnlyHint: new(true)})
	shown(t, s, u, tools(look, tool("write", "text")))
	want(2, "write")
	// What waits counts, too: the server lists it now.
	shown(t, s, u, tools(annotated("look", nil), tool("write", "text"), tool("erase", "text")))
	want(3, "erase", "look", "write")
}
