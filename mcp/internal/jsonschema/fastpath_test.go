package jsonschema_test

import (
	"encoding/json/jsontext"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
)

// quickSchemas are made of the keywords that are checked on the text, or end
// where those do.
var quickSchemas = []string{
	`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer","minimum":1,"maximum":100}},"required":["a"],"additionalProperties":false}`,
	`{"type":"object","properties":{"a":{"type":"string","pattern":"^[a-z]+$","minLength":2,"maxLength":4},"b":{"enum":["x","é"]}}}`,
	`{"type":["object","null"],"properties":{"a":{"type":"array","items":{"type":"number"},"minItems":1,"maxItems":2},"b":true,"c":false}}`,
	`{"properties":{"a":{"format":"date"},"b":{"$ref":"#"}},"required":["b"]}`,
	`{"required":["a"]}`, `{"type":"integer"}`, `{"type":"boolean"}`, `{"minimum":0}`, `{"maximum":1.5}`, `{"type":"array"}`, `{"enum":["a"]}`, `{"enum":[1]}`,
	`{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"integer"}}`, `{"properties":{"a":{"x":1}}}`,
}

var quickValues = []string{
	`{}`, `{"a":"x"}`, `{"a":"abc","b":7}`, `{"a":"x","b":0}`, `{"a":"x","b":1.0}`, `{"a":"x","b":101}`, `{"a":"x","c":1}`, `{"b":1}`, `{"a":null}`,
	`{"a":"\u0061b"}`, `{"b":"\u00e9"}`, `{"b":"x"}`, `{"a":[1]}`, `{"a":[]}`, `{"a":[1,2,3]}`, `{"a":["x"]}`, `{"b":{"b":1}}`, `{"c":1}`, `{"a":1e400}`,
	`null`, `1`, `1.5`, `-1`, `12345678901234567890`, `true`, `"a"`, `[]`, `["a",1]`, `[1]`, ` { "a" : "x" } `, `{"a":"2020-01-01"}`, `{"a":"x","a":"y"}`, `{`, ``,
}

func TestOrdinaryValuesAreAdmittedAtOnce(t *testing.T) {
	v := jsonschema.Lazy(jsontext.Value(quickSchemas[0]), nil)
	for _, value := range []string{`{"a":"x"}`, `{"a":"abc","b":7}`, ` { "b" : 100 , "a" : "\n" } `} {
		if !v.Admits(jsontext.Value(value)) {
			t.Errorf("%s: got no answer, want yes", value)
		}
	}
	for _, value := range []string{`{}`, `{"a":1}`, `{"a":"x","b":0}`, `{"a":"x","c":1}`, `[]`, `null`} {
		if v.Admits(jsontext.Value(value)) {
			t.Errorf("%s: admitted, want it left to the library", value)
		}
	}
}

// FuzzAdmits shows that nothing is admitted that the library refuses.
func FuzzAdmits(f *testing.F) {
	for _, s := range append(quickSchemas, seedSchemas...) {
		for _, v := range append(quickValues, seedValues...) {
			f.Add(s, v)
		}
	}
	f.Fuzz(func(t *testing.T, text, instance string) {
		if jsonrpc.CheckValue([]byte(instance), jsonrpc.Limits{}) != nil {
			return
		}
		v, err := jsonschema.Compile(jsontext.Value(text), &jsonschema.Limits{Work: 100_000})
		if err != nil || !v.Admits(jsontext.Value(instance)) {
			return
		}
		if err := v.Judge(jsontext.Value(instance)); err != nil {
			t.Errorf("%s admits %s: %v", text, instance, err)
		}
	})
}
