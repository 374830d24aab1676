package mcpserver_test

import (
	"encoding/json/jsontext"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// TestDefinitionsAreCopied changes, after registration, everything that a
// definition and its options point to.
func TestDefinitionsAreCopied(t *testing.T) {
	t.Parallel()
	srv := newServer(nil)
	meta := mcp.Meta{"com.example/a": jsontext.Value(`"before"`)}
	icons := []mcp.Icon{{Src: "https://example.com/before.png", Sizes: []string{"16x16"}}}
	extra := jsontext.Value(`{"x":"before"}`)
	schema := jsontext.Value(`{"type":"object","title":"before"}`)
	hints := &mcp.ToolAnnotations{Title: "before", ReadOnlyHint: new(true)}
	notes := mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}, Priority: new(1.0)}
	arguments := []mcp.PromptArgument{{Name: "before"}}
	size := new(int64(7))
	shared := map[string]string{"k": "before"}
	option := mcpserver.Meta("com.example/b", shared)

	srv.AddTool(mcp.Tool{Name: "a", InputSchema: schema, Annotations: hints, Icons: icons, Meta: meta, Extra: extra}, rawNothing, option)
	srv.AddTool(mcp.Tool{Name: "b"}, rawNothing, mcpserver.Icons(icons...), option)
	srv.AddTool(mcp.Tool{Name: "c"}, rawNothing, mcpserver.Define(func(d *mcp.Tool) { d.Icons, d.Meta, d.Annotations = icons, meta, hints }))
	srv.AddResource(mcp.Resource{URI: "a://b", Name: "a", Size: size, Annotations: &notes, Icons: icons, Meta: meta, Extra: extra}, noContents, option)
	srv.AddResource(mcp.Resource{URI: "a://c", Name: "c"}, noContents, mcpserver.Annotate(notes))
	srv.AddTemplate(mcp.ResourceTemplate{URITemplate: "a://{b}", Name: "a", Annotations: &notes, Icons: icons, Meta: meta, Extra: extra}, noContents, option)
	srv.AddPrompt(mcp.Prompt{Name: "a", Arguments: arguments, Icons: icons, Meta: meta, Extra: extra}, noMessages, option)
	if len(meta) != 1 {
		t.Errorf("got %v, want the option to leave the map of the caller as it is", meta)
	}

	meta["com.example/a"][1] = 'X'
	meta["com.example/LATE"] = jsontext.Value(`1`)
	shared["k"] = "LATE"
	icons[0].Src, icons[0].Sizes[0] = "https://example.com/LATE.png", "LATE"
	copy(extra, `{"x":"LATEST"}`)
	copy(schema[len(schema)-len(`before"}`):], `LATEST"}`)
	hints.Title, *hints.ReadOnlyHint = "LATE", false
	notes.Audience[0], *notes.Priority = mcp.RoleAssistant, 0
	arguments[0].Name = "LATE"
	*size = 8

	w := dial(t, srv, mcp.V20260728)
	for _, method := range []string{"tools/list", "resources/list", "resources/templates/list", "prompts/list"} {
		raw := string(w.Must(method, ""))
		for _, changed := range []string{"LATE", "X", `"readOnlyHint":false`, `"assistant"`, `"priority":0`, `"size":8`} {
			if strings.Contains(raw, changed) {
				t.Errorf("%s: got %s, want nothing of %s", method, raw, changed)
			}
		}
	}
}
