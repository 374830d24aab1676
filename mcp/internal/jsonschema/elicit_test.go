package jsonschema_test

import (
	"encoding/json/jsontext"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
)

func TestElicitationSchemas(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-335a", "R-335b")
	field := func(schema string) string { return `{"type":"object","properties":{"f":` + schema + `}}` }
	const never = "never" // refused with and without the extensions
	tests := []struct {
		text    string
		refused string // why without the extensions; "" if it is not
	}{
		{`{"type":"object","properties":{}}`, ``},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, ``},
		{field(`{"type":"string","title":"T","description":"D","minLength":1,"maxLength":9,"format":"email"}`), ``},
		{field(`{"type":"integer","minimum":1,"maximum":9}`), ``},
		{field(`{"type":"number"}`), ``},
		{field(`{"type":"boolean","default":true}`), ``},
		{field(`{"type":"string","enum":["a","b"],"enumNames":["A","B"]}`), ``},
		{field(`{"type":"string","default":"x"}`), `form: field "f": default: only a boolean has one in this revision`},
		{field(`{"type":"integer","default":1}`), `form: field "f": default: only a boolean has one in this revision`},
		{field(`{"type":"string","oneOf":[{"const":"a","title":"A"}]}`), `form: field "f": oneOf: titles go into enumNames in this revision`},
		{field(`{"type":"array","items":{"type":"string","enum":["a"]},"maxItems":1,"default":["a"]}`), `form: field "f": type "array": want string, number, integer or boolean`},
		{field(`{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}`), `form: field "f": type "array": want string, number, integer or boolean`},
		{`[]`, never},
		{`{"properties":{}}`, never},
		{`{"type":"array","properties":{}}`, never},
		{`{"type":"object","properties":{},"additionalProperties":false}`, never},
		{`{"type":"object","properties":{},"allOf":[]}`, never},
		{`{"type":"object","properties":{},"required":["x"]}`, never},
		{field(`{"type":"object","properties":{}}`), never},
		{field(`{"type":["string","null"]}`), never},
		{field(`{"$ref":"#/properties/x"}`), never},
		{field(`{"anyOf":[{"type":"string"}]}`), never},
		{field(`true`), never},
		{field(`{"type":"string","pattern":"x"}`), never},
		{field(`{"type":"string","format":"uuid"}`), never},
		{field(`{"type":"integer","enum":["a"]}`), never},
		{field(`{"type":"string","enum":[1]}`), never},
		{field(`{"type":"string","enum":["a"],"enumNames":[]}`), never},
		{field(`{"type":"string","enum":["a"],"oneOf":[{"const":"a","title":"A"}]}`), never},
		{field(`{"type":"string","oneOf":[{"const":"a"}]}`), never},
		{field(`{"type":"integer","default":1.5}`), never},
		{field(`{"type":"boolean","default":"true"}`), never},
		{field(`{"type":"array"}`), never},
		{field(`{"type":"array","items":{"type":"string"}}`), never},
		{field(`{"type":"array","items":{"type":"integer","enum":["a"]}}`), never},
		{field(`{"type":"array","items":{"anyOf":[{"title":"A"}]}}`), never},
	}
	for _, tt := range tests {
		plain := jsonschema.CheckElicitation(jsontext.Value(tt.text), false)
		extended := jsonschema.CheckElicitation(jsontext.Value(tt.text), true)
		switch tt.refused {
		case never:
			if plain == nil || extended == nil || !strings.HasPrefix(extended.Error(), "form: ") {
				t.Errorf("%s: got %v and %v, want errors", tt.text, plain, extended)
			}
			continue
		case "":
			if plain != nil {
				t.Errorf("%s: %v", tt.text, plain)
			}
		default:
			if plain == nil || plain.Error() != tt.refused {
				t.Errorf("%s:\ngot  %v\nwant %s", tt.text, plain, tt.refused)
			}
		}
		if extended != nil {
			t.Errorf("%s: %v", tt.text, extended)
		}
	}
}

func TestApplyDefaults(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-338b")
	const form = `{"type":"object","properties":{"a":{"type":"string","default":"x"},"b":{"type":"integer"},"c":{"default":null},"d":true,"e":{"default":[1]}}}`
	tests := []struct{ instance, schema, want string }{
		{`{"b":1}`, form, `{"b":1,"a":"x","c":null,"e":[1]}`},
		{`{"e":2,"a":null}`, form, `{"e":2,"a":null,"c":null}`},
		{``, form, `{"a":"x","c":null,"e":[1]}`},
		{`{"z": 1e2}`, `{}`, `{"z":1e2}`},
		{`{ "a": "y z" , "c":1, "e" :2}`, form, `{"a":"y z","c":1,"e":2}`},
		{`{}`, `{"properties":{"a":{"properties":{"b":{"default":1}}}}}`, `{}`},
	}
	for _, tt := range tests {
		got, err := jsonschema.Lazy(jsontext.Value(tt.schema), nil).ApplyDefaults(jsontext.Value(tt.instance))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v, want %s", tt.instance, got, err, tt.want)
		}
	}
	for _, tt := range []struct{ instance, schema string }{{`[]`, form}, {`{`, form}, {`{}`, `{"properties":7}`}, {`{}`, `[]`}, {`{"a":1,"a":2}`, form}, {`{"a":1,"a":2}`, `{}`}, {`7`, `{}`}} {
		if got, err := jsonschema.Lazy(jsontext.Value(tt.schema), nil).ApplyDefaults(jsontext.Value(tt.instance)); err == nil {
			t.Errorf("%s with %s: got %s, want an error", tt.instance, tt.schema, got)
		}
	}
}
