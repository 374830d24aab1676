package schema_test

import (
	"encoding/json/jsontext"
	"math"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
	"github.com/fondaco/fondaco/mcp/schema"
)

func TestBuiltSchema(t *testing.T) {
	t.Parallel()
	tests := []struct {
		schema *schema.Schema
		want   string
	}{
		{
			schema.Object(
				schema.Required("city", schema.String().MinLen(1).Doc("name of a city").Example("Turin")),
				schema.Optional("days", schema.Integer().Min(1).Max(14).Default(3)),
				schema.Optional("tags", schema.Array(schema.String()).Enum("sun", "snow").Unique()),
			),
			`{"type":"object","properties":{"city":{"type":"string","description":"name of a city","minLength":1,"examples":["Turin"]},` +
				`"days":{"type":"integer","minimum":1,"maximum":14,"default":3},` +
				`"tags":{"type":"array","items":{"type":"string","enum":["sun","snow"]},"uniqueItems":true}},"required":["city"],"additionalProperties":false}`,
		},
		{schema.Object(), `{"type":"object","additionalProperties":false}`},
		{schema.Object().Open(), `{"type":"object"}`},
		{schema.Map(schema.Any()), `{"type":"object"}`},
		{schema.Map(schema.Boolean()), `{"type":"object","additionalProperties":{"type":"boolean"}}`},
		{schema.Any().Enum(1, "a", nil, []int{2}), `{"enum":[1,"a",null,[2]]}`},
		{schema.Number().Above(0).Below(1e21).MultipleOf(0.1), `{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1e+21,"multipleOf":0.1}`},
		{schema.String().Title("T").Format("date").Header("Day").Const("2026-01-01"), `{"type":"string","title":"T","format":"date","const":"2026-01-01","x-mcp-header":"Day"}`},
		{schema.Array(schema.Any()).MinItems(1).MaxItems(2), `{"type":"array","items":{},"minItems":1,"maxItems":2}`},
		{schema.AnyOf(schema.String(), schema.Integer().Min(1)).Doc("D"), `{"description":"D","anyOf":[{"type":"string"},{"type":"integer","minimum":1}]}`},
		{schema.OneOf(schema.Object(schema.Required("a", schema.String()))), `{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}]}`},
		{schema.String().MaxLen(2).Default("a").Nullable().Doc("D"), `{"type":["string","null"],"description":"D","maxLength":2,"default":"a"}`},
		{schema.String().Enum("a").Nullable().Nullable(), `{"type":["string","null"],"enum":["a",null]}`},
		{schema.String().Const("a").Doc("D").Nullable(), `{"description":"D","anyOf":[{"type":"string","const":"a"},{"type":"null"}]}`},
		{schema.AnyOf(schema.String(), schema.Integer()).Nullable(), `{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]}`},
		{schema.OneOf(schema.String(), schema.Integer()).Doc("D").Nullable(), `{"description":"D","anyOf":[{"oneOf":[{"type":"string"},{"type":"integer"}]},{"type":"null"}]}`},
		{schema.Array(schema.String()).Enum("a").Nullable(), `{"type":["array","null"],"items":{"type":"string","enum":["a"]}}`},
		{schema.Any().Nullable(), `{}`},
		{schema.String().Pattern("^a<b$").MaxLen(9), `{"type":"string","pattern":"^a<b$","maxLength":9}`},
	}
	for _, tt := range tests {
		got, err := tt.schema.JSON()
		if err != nil || string(got) != tt.want {
			t.Errorf("got  %s, %v\nwant %s", got, err, tt.want)
		}
		if _, err := jsonschema.Compile(got, nil); err != nil {
			t.Errorf("%s: %v", got, err)
		}
	}
}

func TestAlternativesAndNullAreValidated(t *testing.T) {
	t.Parallel()
	pet := schema.OneOf(
		schema.Object(schema.Required("kind", schema.String().Const("cat")), schema.Optional("lives", schema.Integer().Nullable())),
		schema.Object(schema.Required("kind", schema.String().Const("dog"))),
	)
	text, err := schema.Object(schema.Required("pet", pet), schema.Optional("size", schema.String().Enum("s", "l").Nullable())).JSON()
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.Compile(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]bool{
		`{"pet":{"kind":"cat","lives":9}}`:              true,
		`{"pet":{"kind":"cat","lives":null}}`:           true,
		`{"pet":{"kind":"dog"},"size":null}`:            true,
		`{"pet":{"kind":"dog"},"size":"l"}`:             true,
		`{"pet":{"kind":"dog","lives":1}}`:              false,
		`{"pet":{"kind":"cow"}}`:                        false,
		`{"pet":null}`:                                  false,
		`{"pet":{"kind":"cat","lives":"9"},"size":"s"}`: false,
		`{"pet":{"kind":"dog"},"size":"m"}`:             false,
	} {
		if err := v.Validate(jsontext.Value(value)); (err == nil) != want {
			t.Errorf("%s: got error %v, want valid %v", value, err, want)
		}
	}
}

func TestBuiltSchemaThatMakesNoSense(t *testing.T) {
	t.Parallel()
	tests := []struct {
		schema *schema.Schema
		want   string
	}{
		{schema.String().Min(1), `min on a string: use minlen`},
		{schema.Integer().Max(1.5), `max "1.5": want a whole number`},
		{schema.Number().Min(math.NaN()), `min "NaN": want a number`},
		{schema.Integer().Enum(1, "2"), `enum "2": want an integer`},
		{schema.Integer().Enum(1, 1), `1 is given twice`},
		{schema.Boolean().Default("yes"), `default "yes": want a boolean`},
		{schema.String().Open(), `open on a string: it is for objects`},
		{schema.Object(schema.Required("a", schema.Array(schema.String().Format("day")))), `property "a": format "day": want one of date, date-time, duration, email, hostname, idn-email, idn-hostname, ipv4, ipv6, iri, iri-reference, json-pointer, regex, relative-json-pointer, time, uri, uri-reference, uri-template, uuid`},
		{schema.Object(schema.Required("a", schema.Any()), schema.Optional("a", schema.Any())), `property "a" is given twice`},
		{schema.Map(schema.Integer().Min(3).Max(2)), `min "3": greater than max "2"`},
		{schema.String().MaxLen(1).Default("ab"), `default "ab": value: want at most 1 character, got 2`},
		{schema.Array(nil), `nil schema: want Any for a value of any type`},
		{schema.Map(nil), `nil schema: want Any for a value of any type`},
		{schema.Object(schema.Optional("a", nil)), `property "a": nil schema: want Any for a value of any type`},
		{schema.AnyOf(), `no alternatives: want at least one schema`},
		{schema.OneOf(schema.String(), schema.Integer().Min(3).Max(2)), `alternative 2: min "3": greater than max "2"`},
		{schema.Object(schema.Optional("a", schema.AnyOf(nil))), `property "a": alternative 1: nil schema: want Any for a value of any type`},
		{schema.String().MaxLen(1).Default("ab").Nullable(), `default "ab": value: want at most 1 character, got 2`},
		{schema.Integer().Header("N").Header(""), `header "": want a name`},
	}
	for _, tt := range tests {
		if got, err := tt.schema.JSON(); err == nil || err.Error() != tt.want {
			t.Errorf("got %s, %v, want error %q", got, err, tt.want)
		}
	}
}
