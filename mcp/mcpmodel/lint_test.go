package mcpmodel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpmodel"
)

func TestLintFindsWhatAnAPIDoesNotTake(t *testing.T) {
	t.Parallel()
	long := tool("long", `{"type":"object"}`)
	long.Description = strings.Repeat("x", 1025)
	tests := []struct {
		tool mcp.Tool
		api  *mcpmodel.API
		want string
	}{
		{tool("a.b", `{"type":"object"}`), mcpmodel.OpenAIChat, `tool "a.b": /name: the API refuses the name, want 1 to 64 of a-z, A-Z, 0-9, '_' and '-'; mcp.QualifiedName and mcpclient.Group make such names: refused by OpenAI Chat Completions`},
		{tool(strings.Repeat("a", 129), `{"type":"object"}`), mcpmodel.Anthropic, `/name: the API refuses the name, want 1 to 128 of`},
		{tool(strings.Repeat("a", 65), `{"type":"object"}`), mcpmodel.OpenAIResponses, `/name: the API refuses the name, want 1 to 64 of`},
		{tool("0a", `{"type":"object"}`), mcpmodel.Gemini, `tool "0a": /name: the API refuses the name`},
		{long, mcpmodel.OpenAIChat, `tool "long": /description: has 1025 characters, want at most 1024: refused by`},
		{tool("u", `{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]}`), mcpmodel.Anthropic, `/inputSchema/oneOf: oneOf at the root of the schema, want it in a property: refused by Anthropic Messages`},
		{tool("f", `{"type":"object","properties":{"a":{"type":"string","format":"uri"}}}`), mcpmodel.Gemini, `/inputSchema/properties/a/format: the format "uri" is not taken: ignored by Gemini generateContent`},
		{tool("p", `{"type":"object","properties":{"a":{"$ref":"#/x"}}}`), mcpmodel.Anthropic, `/inputSchema: properties: "a": $ref "#/x": names nothing in the schema: refused by`},
		{tool("s", `{"type":"object","properties":{"a":{"type":"string"}}}`), mcpmodel.OpenAIChat.With(mcpmodel.Options{Strict: true}), `/inputSchema: the property "a" is not required: refused by`},
	}
	for _, tt := range tests {
		var texts []string
		for _, f := range mcpmodel.Lint([]mcp.Tool{tt.tool}, tt.api) {
			texts = append(texts, f.String())
		}
		if !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, tt.want) }) {
			t.Errorf("got %q, want %q", texts, tt.want)
		}
	}
	plain := tool("plain", `{"type":"object","properties":{"a":{"type":"string","description":"D","enum":["x"]},"b":{"type":"array","items":{"type":"integer","minimum":1}}},"required":["a"],"additionalProperties":false}`)
	reference := tool("r", `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`)
	for _, f := range mcpmodel.Lint([]mcp.Tool{reference}) {
		if f.Refused && f.API != mcpmodel.Anthropic.String() {
			t.Errorf("got %v, want a reference refused by Anthropic alone", f)
		}
	}
	if found := mcpmodel.Lint([]mcp.Tool{tool(strings.Repeat("a", 128), `{"type":"object"}`)}, mcpmodel.Anthropic); len(found) > 0 {
		t.Errorf("got %v for a name of 128 characters, want nothing", found)
	}
	if found := mcpmodel.Lint([]mcp.Tool{plain}); len(found) > 0 {
		t.Errorf("got %v for a plain tool, want nothing", found)
	}
}

func TestFindingsOfAHostileToolAreBounded(t *testing.T) {
	t.Parallel()
	var props strings.Builder
	for range 1000 {
		props.WriteString(`{"frob":1},`)
	}
	hostile := tool("h", `{"type":"object","properties":{"a":{"anyOf":[`+props.String()+`{}]}}}`)
	if n := len(mcpmodel.Lint([]mcp.Tool{hostile}, mcpmodel.Anthropic)); n > 25 {
		t.Errorf("got %d findings, want a bounded number", n)
	}
}

func TestCheckToolRefusesWhatAnAPIRefuses(t *testing.T) {
	t.Parallel()
	format := tool("f", `{"type":"object","properties":{"a":{"type":"string","format":"uri"}}}`)
	dotted := tool("a.b", `{"type":"object"}`)
	for _, tt := range []struct {
		tool mcp.Tool
		apis []*mcpmodel.API
		want int // errors
	}{
		{tool("plain", `{"type":"object"}`), nil, 0},
		{format, nil, 0}, // ignored by Gemini
		{dotted, nil, 3},
		{dotted, []*mcpmodel.API{mcpmodel.Gemini}, 0},
		{dotted, []*mcpmodel.API{mcpmodel.OpenAIChat}, 1},
	} {
		err := mcpmodel.CheckTool(tt.apis...)(tt.tool)
		if n := strings.Count(fmt.Sprint(err), "refused by"); n != tt.want || (err == nil) != (tt.want == 0) {
			t.Errorf("%s for %v: got %v, want %d findings", tt.tool.Name, tt.apis, err, tt.want)
		}
	}
}
