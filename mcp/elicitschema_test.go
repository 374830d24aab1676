package mcp_test

import (
	"encoding/json/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

var fieldSchemas = []struct {
	schema mcp.PrimitiveSchema
	raw    string
}{
	{mcp.StringSchema{}, `{"type":"string"}`},
	{
		mcp.StringSchema{Title: "t", Description: "d", Format: mcp.FormatEmail, MinLength: new(int64(0)), MaxLength: new(int64(9)), Default: new("")},
		`{"type":"string","title":"t","description":"d","format":"email","minLength":0,"maxLength":9,"default":""}`,
	},
	{
		mcp.NumberSchema{Title: "t", Description: "d", Minimum: new(-0.5), Maximum: new(2.0), Default: new(0.0)},
		`{"type":"number","title":"t","description":"d","minimum":-0.5,"maximum":2,"default":0}`,
	},
	{mcp.NumberSchema{Integer: true}, `{"type":"integer"}`},
	{mcp.BooleanSchema{Title: "t", Description: "d", Default: new(false)}, `{"type":"boolean","title":"t","description":"d","default":false}`},
	{
		mcp.EnumSchema{Title: "t", Description: "d", Options: []mcp.EnumOption{{Value: "a"}, {Value: "b"}}, Default: []string{"b"}},
		`{"type":"string","title":"t","description":"d","enum":["a","b"],"default":"b"}`,
	},
	{
		mcp.EnumSchema{Options: []mcp.EnumOption{{Value: "a", Title: "A"}}},
		`{"type":"string","oneOf":[{"const":"a","title":"A"}]}`,
	},
	{
		mcp.EnumSchema{Options: []mcp.EnumOption{{Value: "a"}}, Multiple: true, MinItems: new(int64(0)), MaxItems: new(int64(1)), Default: []string{}},
		`{"type":"array","items":{"type":"string","enum":["a"]},"minItems":0,"maxItems":1,"default":[]}`,
	},
	{
		mcp.EnumSchema{Title: "t", Description: "d", Options: []mcp.EnumOption{{Value: "a", Title: "A"}}, Multiple: true, Default: []string{"a"}},
		`{"type":"array","title":"t","description":"d","items":{"anyOf":[{"const":"a","title":"A"}]},"default":["a"]}`,
	},
}

func TestElicitSchemaRoundTrip(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-335a", "R-335b")
	for _, c := range fieldSchemas {
		if got := encode(t, c.schema); got != c.raw {
			t.Errorf("got  %s\nwant %s", got, c.raw)
		}
		raw := `{"type":"object","properties":{"f":` + c.raw + `},"required":["f"]}`
		want := mcp.ElicitSchema{Fields: []mcp.ElicitField{{Name: "f", Required: true, Schema: c.schema}}}
		var got mcp.ElicitSchema
		if err := json.Unmarshal([]byte(raw), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v and error %v, want %#v", raw, got, err, want)
		}
		if again := encode(t, got); again != raw {
			t.Errorf("got  %s\nwant %s", again, raw)
		}
	}
}

func TestElicitSchemaKeepsTheOrderOfFields(t *testing.T) {
	t.Parallel()
	const raw = `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"boolean"},"m":{"type":"integer"}},"required":["z","m"]}`
	var schema mcp.ElicitSchema
	if err := json.Unmarshal([]byte(raw), &schema); err != nil {
		t.Fatal(err)
	}
	if got := encode(t, schema); got != raw {
		t.Errorf("got %s, want %s", got, raw)
	}
	if got, want := encode(t, mcp.ElicitSchema{}), `{"type":"object","properties":{}}`; got != want {
		t.Errorf("empty: got %s, want %s", got, want)
	}
}

func TestElicitSchemaReadsTitlesOf20250618(t *testing.T) {
	t.Parallel()
	var schema mcp.ElicitSchema
	raw := `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"f":{"type":"string","enum":["a","b"],"enumNames":["A"]}}}`
	if err := json.Unmarshal([]byte(raw), &schema); err != nil {
		t.Fatal(err)
	}
	want := mcp.EnumSchema{Options: []mcp.EnumOption{{Value: "a", Title: "A"}, {Value: "b"}}}
	if got := schema.Fields[0].Schema; !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, want %#v", got, want)
	}
	const titled = `{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"b"}]}`
	if got := encode(t, want); got != titled {
		t.Errorf("got %s, want %s", got, titled)
	}
}

func TestInvalidElicitSchemaIsAnError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ raw, want string }{
		{`null`, "object"},
		{`{"type":"array"}`, `want "object"`},
		{`{"type":"object","properties":[]}`, "want an object"},
		{`{"type":"object","properties":{"f":{"type":"object"}}}`, `field "f": got type "object"`},
		{`{"type":"object","properties":{"f":{"type":"array"}}}`, "without items"},
		{`{"type":"object","properties":{"f":{"type":"string","maxLength":"9"}}}`, `field "f"`},
		{`{"type":"object","properties":{"f":{"type":"string","enum":["a"],"default":["a"]}}}`, `field "f"`},
		{`{"type":"object","properties":{"f":{"type":"string"},"f":{"type":"string"}}}`, "duplicate"},
	} {
		var schema mcp.ElicitSchema
		if err := json.Unmarshal([]byte(c.raw), &schema); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one about %q", c.raw, err, c.want)
		}
	}
}

func TestElicitSchemaThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		mcp.ElicitSchema{Fields: []mcp.ElicitField{{Name: "f"}}},
		mcp.ElicitSchema{Fields: []mcp.ElicitField{{Name: "f", Schema: mcp.BooleanSchema{}}, {Name: "f", Schema: mcp.BooleanSchema{}}}},
		mcp.EnumSchema{Default: []string{"a", "b"}},
	} {
		if raw, err := json.Marshal(v); err == nil {
			t.Errorf("%#v: got %s, want an error", v, raw)
		}
	}
}
