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
		claims, err := s.ToolClaims(t.Context(), u)
		if err != nil || claims == nil || claims.Count != count || !slices.Equal(claims.Others, others) {
			t.Errorf("got %v, %v, want %d, %q", claims, err, count, others)
		}
	}
	annotated := func(name string, a *mcp.ToolAnnotations) mcp.Tool {
		described := tool(name, "text")
		described.Annotations = a
		return described
	}
	look := annotated("look", &mcp.ToolAnnotations{ReadOnlyHint: new(true)})
	shown(t, s, u, tools(look, tool("write", "text")))
	want(2, "write")
	// What waits counts, too: the server lists it now.
	shown(t, s, u, tools(annotated("look", nil), tool("write", "text"), tool("erase", "text")))
	want(3, "erase", "look", "write")
}

func TestServerWithoutToolsDiffersFromOneThatHasNeverListedThem(t *testing.T) {
	t.Parallel()
	for _, trust := range []host.Trust{host.TrustBaseline, host.TrustAsk, host.TrustAuto} {
		s, u := newStore(), server(trust)
		unread := tools()
		unread.Unread = []host.DefinitionKind{host.KindTool}
		shown(t, s, u, unread)
		if claims, err := s.ToolClaims(t.Context(), u); claims != nil || err != nil {
			t.Errorf("%s: got %v, %v, want nothing known of a list that could not be read", trust, claims, err)
		}
		shown(t, s, u, tools())
		if claims, err := s.ToolClaims(t.Context(), u); err != nil || claims == nil || claims.Count != 0 {
			t.Errorf("%s: got %v, %v, want no tools", trust, claims, err)
		}
		shown(t, s, u, tools(tool("look", "text")))
		if claims, err := s.ToolClaims(t.Context(), u); err != nil || claims == nil || claims.Count != 1 {
			t.Errorf("%s: got %v, %v, want one tool", trust, claims, err)
		}
	}
}
