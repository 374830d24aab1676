package jsonschema_test

import (
	"encoding/json/jsontext"
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
)

func TestHeaderParams(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-147b", "D-12", "G-d")
	tests := []struct{ text, want string }{
		{`{"type":"object"}`, `[]`},
		{`true`, `[]`},
		{
			`{"properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"X-N~1"},"b":{"type":"boolean","x-mcp-header":"B"}}}`,
			`[{B [b] boolean} {X-N~1 [n] integer} {Region [region] string}]`,
		},
		{
			`{"properties":{"a":{"type":"object","properties":{"b/c":{"type":"object","properties":{"d":{"type":"string","x-mcp-header":"D"}}}}}}}`,
			`[{D [a b/c d] string}]`,
		},
		{`{"properties":{"x-mcp-header":{"type":"string"}}}`, `[]`},
		{`{"properties":{"x-mcp-header":{"type":"string","x-mcp-header":"H"}}}`, `[{H [x-mcp-header] string}]`},
		{`{"default":{"x-mcp-header":7},"examples":[{"x-mcp-header":"a b"}],"const":{"x-mcp-header":1},"enum":[{"x-mcp-header":1}]}`, `[]`},
	}
	for _, tt := range tests {
		got, err := jsonschema.HeaderParams(jsontext.Value(tt.text), false)
		if err != nil || fmt.Sprint(got) != tt.want {
			t.Errorf("%s:\ngot  %v, %v\nwant %s", tt.text, got, err, tt.want)
		}
	}
}

func TestInvalidHeaderMarks(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-147a", "R-147b", "D-12")
	prop := func(schema string) string { return `{"properties":{"p":` + schema + `}}` }
	const (
		token = `want letters, digits and hyphens`
		place = `want it on a property that is reached through properties only`
		types = `want it on a string, integer or boolean`
	)
	marked := `{"type":"string","x-mcp-header":"H"}`
	tests := []struct{ text, want string }{
		{prop(`{"type":"string","x-mcp-header":""}`), `want a name`},
		{prop(`{"type":"string","x-mcp-header":7}`), `want a string`},
		{prop(`{"type":"string","x-mcp-header":null}`), `want a string`},
		{prop(`{"type":"string","x-mcp-header":"a b"}`), token},
		{prop(`{"type":"string","x-mcp-header":"a:b"}`), token},
		{prop(`{"type":"string","x-mcp-header":"a\r\nb"}`), token},
		{prop(`{"type":"string","x-mcp-header":"a\u0000"}`), token},
		{prop(`{"type":"string","x-mcp-header":"é"}`), token},
		{prop(`{"type":"string","x-mcp-header":"a/b"}`), token},
		{prop(`{"type":"number","x-mcp-header":"H"}`), types},
		{prop(`{"type":"object","x-mcp-header":"H"}`), types},
		{prop(`{"type":"array","x-mcp-header":"H"}`), types},
		{prop(`{"type":"null","x-mcp-header":"H"}`), types},
		{prop(`{"type":["string","null"],"x-mcp-header":"H"}`), types},
		{prop(`{"x-mcp-header":"H"}`), types},
		{prop(`{"$ref":"#/$defs/a","x-mcp-header":"H"}`), types},
		{`{"type":"string","x-mcp-header":"H"}`, place},
		{prop(`{"type":"array","items":` + marked + `}`), place},
		{prop(`{"allOf":[` + marked + `]}`), place},
		{prop(`{"anyOf":[` + marked + `]}`), place},
		{prop(`{"oneOf":[` + marked + `]}`), place},
		{prop(`{"not":` + marked + `}`), place},
		{prop(`{"if":{},"then":` + marked + `}`), place},
		{prop(`{"additionalProperties":` + marked + `}`), place},
		{prop(`{"patternProperties":{"a":` + marked + `}}`), place},
		{`{"$defs":{"a":` + marked + `},"properties":{"p":{"$ref":"#/$defs/a"}}}`, place},
		{`{"allOf":[` + prop(marked) + `]}`, place},
		{`{"properties":{"a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"string","x-mcp-header":"REGION"}}}`, `"REGION": also on /a`},
	}
	for _, tt := range tests {
		got, err := jsonschema.HeaderParams(jsontext.Value(tt.text), false)
		if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%s: got %v, %v, want error …%s", tt.text, got, err, tt.want)
		}
	}
	_, err := jsonschema.HeaderParams(jsontext.Value(prop(`{"type":"string","x-mcp-header":"a b"}`)), false)
	if want := `schema: /p: x-mcp-header: "a b": ` + token; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestHeaderMarksOfOneSchemaAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 65 {
		fmt.Fprintf(&b, `,"p%d":{"type":"string","x-mcp-header":"H%d"}`, i, i)
	}
	text := `{"type":"object","properties":{` + b.String()[1:] + `}}`
	if _, err := jsonschema.HeaderParams(jsontext.Value(text), false); err == nil {
		t.Error("65 marks: got no error, want one")
	}
	text = `{"type":"object","description":"` + strings.Repeat("x", jsonschema.MaxBytes) + `"}`
	if _, err := jsonschema.HeaderParams(jsontext.Value(text), false); err == nil {
		t.Error("a text over the bound: got no error, want one")
	}
}
