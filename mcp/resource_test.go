package mcp_test

import (
	"encoding/json/v2"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

func TestResourceContentsHoldATextOrBytes(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-231b", "R-241")
	for _, c := range []struct {
		contents mcp.ResourceContents
		blob     bool
		want     string
	}{
		{mcp.ResourceContents{URI: "a"}, false, `{"uri":"a","text":""}`},
		{mcp.ResourceContents{URI: "a", Text: "hi"}, false, `{"uri":"a","text":"hi"}`},
		{mcp.ResourceContents{URI: "a", Blob: []byte{}}, true, `{"uri":"a","blob":""}`},
		{mcp.ResourceContents{URI: "a", Blob: []byte("hi")}, true, `{"uri":"a","blob":"aGk="}`},
	} {
		if got := encode(t, c.contents); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
		var again mcp.ResourceContents
		if err := json.Unmarshal([]byte(c.want), &again); err != nil || again.IsBlob() != c.blob {
			t.Errorf("%s: got blob %t and error %v, want blob %t", c.want, again.IsBlob(), err, c.blob)
		}
	}
	if raw, err := json.Marshal(mcp.ResourceContents{Text: "hi", Blob: []byte("hi")}); err == nil {
		t.Errorf("text and blob: got %s, want an error", raw)
	}
}

func TestInvalidResourceContentsAreErrors(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"uri":"a"}`,
		`{"uri":"a","text":"","blob":""}`,
		`{"uri":"a","text":null}`,
		`{"uri":"a","text":1}`,
		`[]`,
	} {
		var got mcp.ResourceContents
		if err := json.Unmarshal([]byte(raw), &got); err == nil {
			t.Errorf("%s: got %+v, want an error", raw, got)
		}
	}
}

func TestDisplayNames(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-222")
	for _, c := range []struct{ got, want string }{
		{mcp.Tool{Name: "n"}.DisplayName(), "n"},
		{mcp.Tool{Name: "n", Annotations: &mcp.ToolAnnotations{}}.DisplayName(), "n"},
		{mcp.Tool{Name: "n", Annotations: &mcp.ToolAnnotations{Title: "a"}}.DisplayName(), "a"},
		{mcp.Tool{Name: "n", Title: "t", Annotations: &mcp.ToolAnnotations{Title: "a"}}.DisplayName(), "t"},
		{mcp.Resource{Name: "n"}.DisplayName(), "n"},
		{mcp.ResourceTemplate{Name: "n", Title: "t"}.DisplayName(), "t"},
		{mcp.Prompt{Name: "n", Title: "t"}.DisplayName(), "t"},
		{mcp.PromptArgument{Name: "n"}.DisplayName(), "n"},
		{mcp.Implementation{Name: "n", Title: "t"}.DisplayName(), "t"},
		{mcp.ResourceLink{Resource: mcp.Resource{Name: "n"}}.DisplayName(), "n"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
