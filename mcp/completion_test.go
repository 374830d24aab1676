package mcp_test

import (
	"testing"

	"github.com/fondaco/fondaco/mcp"
)

func TestReferences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ref  mcp.Reference
		want string
	}{
		{mcp.PromptRef("n"), `{"type":"ref/prompt","name":"n"}`},
		{mcp.ResourceRef("file:///{p}"), `{"type":"ref/resource","uri":"file:///{p}"}`},
	} {
		if got := encode(t, c.ref); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
