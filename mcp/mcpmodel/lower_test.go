package mcpmodel_test

import (
	"encoding/json/jsontext"
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
	"github.com/fondaco/fondaco/mcp/mcpmodel"
)

var apis = []*mcpmodel.API{
	mcpmodel.Anthropic, mcpmodel.OpenAIChat, mcpmodel.OpenAIResponses, mcpmodel.Gemini,
	mcpmodel.Anthropic.With(mcpmodel.Options{Strict: true}),
	mcpmodel.OpenAIResponses.With(mcpmodel.Options{Strict: true}),
}

func TestSchemaIsLowered(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-13")
	strict := mcpmodel.OpenAIChat.With(mcpmodel.Options{Strict: true})
	anthropicStrict := mcpmodel.Anthropic.With(mcpmodel.Options{Strict: true})
	tests := []struct {
		name         string
		api          *mcpmodel.API
		schema, want string
	}{
		{
			"plain", mcpmodel.Anthropic, `{"$schema":"x","type":"object","properties":{"b":{"type":"string","x-y":1},"a":{"type":"integer","minimum":1}},"required":["b"]}`,
			`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer","minimum":1}},"required":["b"]}`,
		},
		{"no type", mcpmodel.OpenAIChat, `{}`, `{"type":"object","properties":{}}`},
		{
			"reference", mcpmodel.Anthropic, `{"type":"object","properties":{"a":{"$ref":"#/$defs/a~1b","description":"D"}},"$defs":{"a/b":{"type":"string","description":"E"}}}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"D"}}}`,
		},
		{
			"anchor", mcpmodel.Anthropic, `{"type":"object","properties":{"a":{"$ref":"#x"}},"$defs":{"y":{"$anchor":"x","type":"string"}}}`,
			`{"type":"object","properties":{"a":{"type":"string"}}}`,
		},
		{
			"recursion", mcpmodel.OpenAIChat, `{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","description":"D","properties":{"next":{"$ref":"#/$defs/n"}}}}}`,
			`{"type":"object","properties":{"n":{"type":"object","description":"D","properties":{"next":{"type":"object","description":"D"}}}}}`,
		},
		{
			"reference to the root", mcpmodel.Gemini, `{"type":"object","properties":{"a":{"$ref":"#"}}}`,
			`{"type":"object","properties":{"a":{"type":"object","properties":{"a":{"type":"object"}}}}}`,
		},
		{
			"allOf", mcpmodel.Anthropic, `{"allOf":[{"type":"object","properties":{"a":{"type":"number","minimum":1}},"required":["a"]},{"properties":{"a":{"type":"integer","minimum":2},"b":{"enum":["x"]}}}]}`,
			`{"type":"object","properties":{"a":{"type":"integer","minimum":2},"b":{"type":"string","enum":["x"]}},"required":["a"]}`,
		},
		{
			"oneOf in a property", mcpmodel.Anthropic, `{"type":"object","properties":{"a":{"description":"D","oneOf":[{"type":"string"},{"type":"integer"}]}}}`,
			`{"type":"object","properties":{"a":{"description":"D","anyOf":[{"type":"string"},{"type":"integer"}]}}}`,
		},
		{
			"constraints beside anyOf", mcpmodel.Anthropic, `{"type":"object","properties":{"a":{"type":"object","properties":{"k":{"type":"string"}},"anyOf":[{"properties":{"b":{"type":"string"}}},{"properties":{"c":{"type":"string"}}}]}}}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"object","properties":{"b":{"type":"string"},"k":{"type":"string"}}},{"type":"object","properties":{"c":{"type":"string"},"k":{"type":"string"}}}]}}}`,
		},
		{
			"anyOf that requires", mcpmodel.Anthropic, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
			`{"type":"object","description":"(requires one of: a, b)","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`,
		},
		{
			"union at the root", mcpmodel.OpenAIChat, `{"oneOf":[{"type":"object","properties":{"k":{"const":"a"},"x":{"type":"string"}},"required":["k","x"],"additionalProperties":false},{"type":"object","properties":{"k":{"const":"b"}},"required":["k"],"additionalProperties":false}]}`,
			`{"type":"object","description":"(requires one of: k, k and x)","properties":{"k":{"anyOf":[{"type":"string","const":"a"},{"type":"string","const":"b"}]},"x":{"type":"string"}},"required":["k"],"additionalProperties":false}`,
		},
		{
			"const and null for Gemini", mcpmodel.Gemini, `{"type":"object","properties":{"a":{"const":"x"},"b":{"enum":["y",null]},"c":{"const":true},"d":{"type":"string","nullable":true},"e":{"type":["string","integer"]}}}`,
			`{"type":"object","properties":{"a":{"type":"string","enum":["x"]},"b":{"anyOf":[{"type":"string","enum":["y"]},{"type":"null"}]},"c":{"type":"boolean","description":"(one of: true)"},"d":{"type":["string","null"]},"e":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`,
		},
		{
			"constraints that become notes", mcpmodel.Gemini, `{"type":"object","properties":{"a":{"type":"string","description":"D","format":"uri","maxLength":9,"pattern":"^a","default":"a"},"b":{"type":"string","format":"date"}}}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"D (format: uri; pattern: ^a; default: \"a\"; maxLength: 9)"},"b":{"type":"string","format":"date"}}}`,
		},
		{
			"tuple", mcpmodel.OpenAIChat, `{"type":"object","properties":{"a":{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false},"b":{"type":"array"}}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{}},"b":{"type":"array","items":{}}}}`,
		},
		{
			"tuple of Gemini", mcpmodel.Gemini, `{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"},{"type":"integer"}]}}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{},"prefixItems":[{"type":"string"},{"type":"integer"}]}}}`,
		},
		{
			"pattern properties", mcpmodel.Anthropic, `{"type":"object","patternProperties":{"^a":{"type":"string"}},"additionalProperties":false}`,
			`{"type":"object","properties":{}}`,
		},
		{
			"name of a property", mcpmodel.Anthropic, `{"type":"object","properties":{"$filter":{"type":"string"},"top":{"type":"integer"}}}`,
			`{"type":"object","properties":{"top":{"type":"integer"}}}`,
		},
		{
			"map", mcpmodel.Gemini, `{"type":"object","additionalProperties":{"type":"integer","multipleOf":2}}`,
			`{"type":"object","properties":{},"additionalProperties":{"type":"integer","description":"(multipleOf: 2)"}}`,
		},
		{
			"strict of OpenAI", strict, `{"type":"object","properties":{"a":{"type":"string"},"b":{"enum":["x"],"default":"x"},"c":{"type":"array","items":{"type":"object","properties":{"d":{"type":"number"}}}},"e":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"required":["a"]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":["string","null"],"description":"(default: \"x\")","enum":["x",null]},"c":{"type":["array","null"],"items":{"type":"object","properties":{"d":{"type":["number","null"]}},"required":["d"],"additionalProperties":false}},"e":{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]}},"required":["a","b","c","e"],"additionalProperties":false}`,
		},
		{
			"strict of OpenAI, not expressible", strict, `{"type":"object","properties":{"a":{"type":"object"}}}`,
			`{"type":"object","properties":{"a":{"type":"object"}}}`,
		},
		{
			"strict of Anthropic", anthropicStrict, `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","format":"uri","minLength":1},"minItems":2}}}`,
			`{"type":"object","properties":{"a":{"type":"array","description":"(minItems: 2)","items":{"type":"string","description":"(minLength: 1)","format":"uri"}}},"additionalProperties":false}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := tt.api.LowerSchema(jsontext.Value(tt.schema))
			if err != nil || string(got) != tt.want {
				t.Fatalf("got  %s, %v\nwant %s", got, err, tt.want)
			}
			again, err := tt.api.LowerSchema(got)
			if err != nil || string(again) != tt.want {
				t.Errorf("lowered again: got %s, %v\nwant no change", again, err)
			}
			if _, err := jsonschema.Compile(got, nil); err != nil {
				t.Errorf("got %s, which is no JSON Schema: %v", got, err)
			}
		})
	}
}

func TestHostileSchemaFailsWithinBounds(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-13")
	var bomb strings.Builder
	bomb.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{"d15":{"type":"string"}`)
	for i := range 15 {
		fmt.Fprintf(&bomb, `,"d%d":{"type":"object","properties":{"x":{"$ref":"#/$defs/d%d"},"y":{"$ref":"#/$defs/d%d"}}}`, i, i+1, i+1)
	}
	bomb.WriteString(`}}`)
	big := `{"type":"object","properties":{"a":{"enum":["` + strings.Repeat(`x","`, 30_000) + `z"]}}`
	refs := strings.Repeat(`{"$ref":"#/properties/a"},`, 2000)
	tests := []struct{ name, schema, want string }{
		{"deep", `{"type":"object","properties":` + strings.Repeat(`{"a":{"properties":`, 100) + `{}` + strings.Repeat(`}}`, 100) + `}`, "more than 40 levels"},
		{"references that double", bomb.String(), "more than 4000 subschemas"},
		{"allOf that doubles", strings.NewReplacer(`"properties":{"x":`, `"allOf":[`, `,"y":`, `,`, `"}}}`, `"}]}`).Replace(bomb.String()), "more than"},
		{"large values copied often", big[:len(big)-1] + `,"b":{"anyOf":[` + refs[:len(refs)-1] + `]}}}`, "more than 4194304 bytes"},
		{"too long", `{"description":"` + strings.Repeat("x", 1<<18) + `"}`, "want at most 262144"},
		{"not JSON", `{"type":`, "not valid JSON"},
		{"a name twice", `{"type":"object","type":"object"}`, "not valid JSON"},
		{"no schema", `[]`, "want an object or a boolean"},
		{"outside", `{"type":"object","properties":{"a":{"$ref":"https://example.com/a"}}}`, "outside of the schema"},
		{"missing", `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}}}`, "names nothing"},
		{"bad type", `{"type":"object","properties":{"a":{"type":"text"}}}`, `found "text", want a type of JSON Schema`},
		{"no object", `{"type":"string"}`, "allows no object"},
	}
	for _, api := range apis {
		for _, tt := range tests {
			got, err := api.LowerSchema(jsontext.Value(tt.schema))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %s: got %.200s, error %v, want %q", api, tt.name, got, err, tt.want)
			}
		}
	}
}

func TestARequiredPropertyWhoseNameIsRefusedIsAnError(t *testing.T) {
	t.Parallel()
	text := jsontext.Value(`{"type":"object","properties":{"in":{"type":"object","properties":{"$filter":{"type":"string"}},"required":["$filter"]}}}`)
	want := `Anthropic Messages: schema requires the property "$filter", and the API takes only names like ^[a-zA-Z0-9_.-]{1,64}$ (in "in")`
	if got, err := mcpmodel.Anthropic.LowerSchema(text); err == nil || err.Error() != want {
		t.Errorf("got %s, error %v, want %s", got, err, want)
	}
	if _, err := mcpmodel.Gemini.LowerSchema(text); err != nil {
		t.Errorf("got error %v, want none of an API that takes every name", err)
	}
}

// Values that are valid under a schema are valid under the lowered one.
func TestLoweredSchemaIsNotNarrower(t *testing.T) {
	t.Parallel()
	tests := []struct {
		schema string
		values []string
	}{
		{
			`{"type":"object","properties":{"a":{"oneOf":[{"type":"integer","minimum":3},{"type":"string","not":{"const":"x"}}]}},"if":{"required":["a"]},"then":{"required":["b"]}}`,
			[]string{`{}`, `{"a":3,"b":1}`, `{"a":"y","b":[]}`},
		},
		{
			`{"type":"object","anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"integer"}},"required":["b"]}],"properties":{"c":{"type":"boolean"}}}`,
			[]string{`{"a":"x"}`, `{"b":1,"c":true}`},
		},
		{
			`{"type":"object","patternProperties":{"^x":{"type":"string"}},"properties":{"a":{"type":["string","null"],"enum":["a",null]}},"additionalProperties":false}`,
			[]string{`{"xy":"1","a":null}`, `{"a":"a"}`},
		},
		{
			`{"allOf":[{"$ref":"#/$defs/a"},{"type":"object","properties":{"b":{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"integer"}}}}],"$defs":{"a":{"type":"object","properties":{"t":{"type":"array","items":{"$ref":"#/$defs/a"}}}}}}`,
			[]string{`{"b":["x",1]}`, `{"t":[{"t":[{"t":[]}]}]}`},
		},
	}
	for _, tt := range tests {
		original, err := jsonschema.Compile(jsontext.Value(tt.schema), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, api := range apis[:4] {
			text, err := api.LowerSchema(jsontext.Value(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			lowered, err := jsonschema.Compile(text, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, value := range tt.values {
				if err := original.Validate(jsontext.Value(value)); err != nil {
					t.Fatalf("%s is not valid under the original: %v", value, err)
				}
				if err := lowered.Validate(jsontext.Value(value)); err != nil {
					t.Errorf("%s: %s is not valid under %s: %v", api, value, text, err)
				}
			}
		}
	}
}
