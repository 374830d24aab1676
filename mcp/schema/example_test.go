package schema_test

import (
	"encoding/json/jsontext"
	"fmt"
	"math/big"

	"github.com/fondaco/fondaco/mcp/schema"
)

func Example() {
	text, err := schema.Object(
		schema.Required("city", schema.String().MinLen(1).Doc("name of a city")),
		schema.Optional("days", schema.Integer().Min(1).Max(14).Default(3)),
	).JSON()
	if err != nil {
		panic(err)
	}
	text.Indent(jsontext.WithIndent("  "))
	fmt.Println(text)
	// Output:
	// {
	//   "type": "object",
	//   "properties": {
	//     "city": {
	//       "type": "string",
	//       "description": "name of a city",
	//       "minLength": 1
	//     },
	//     "days": {
	//       "type": "integer",
	//       "minimum": 1,
	//       "maximum": 14,
	//       "default": 3
	//     }
	//   },
	//   "required": [
	//     "city"
	//   ],
	//   "additionalProperties": false
	// }
}

// A keyword that does not fit is an error that says what to use.
func ExampleSchema_JSON() {
	_, err := schema.Object(
		schema.Required("city", schema.String().Min(1)),
	).JSON()
	fmt.Println(err)
	// Output: property "city": min on a string: use minlen
}

func ExampleArray() {
	text, _ := schema.Array(schema.String()).Enum("sun", "snow").Unique().JSON()
	fmt.Println(text)
	// Output: {"type":"array","items":{"type":"string","enum":["sun","snow"]},"uniqueItems":true}
}

func ExampleMap() {
	text, _ := schema.Map(schema.Number()).JSON()
	fmt.Println(text)
	// Output: {"type":"object","additionalProperties":{"type":"number"}}
}

func ExampleFor() {
	type Forecast struct {
		City string `json:"city" doc:"name of a city" minlen:"1"`
		Days int    `json:"days" min:"1" max:"14" default:"3"`
	}
	text, err := schema.For[Forecast](schema.Input)
	fmt.Println(text, err)
	// Output: {"type":"object","properties":{"city":{"type":"string","description":"name of a city","minLength":1},"days":{"type":"integer","minimum":1,"maximum":14,"default":3}},"required":["city"],"additionalProperties":false} <nil>
}

// Celsius is a temperature that is never below absolute zero.
type Celsius float64

// JSONSchema implements schema.Describer.
func (Celsius) JSONSchema() jsontext.Value {
	return jsontext.Value(`{"type":"number","minimum":-273.15}`)
}

func ExampleDescriber() {
	text, err := schema.For[[]Celsius](schema.Output)
	fmt.Println(text, err)
	// Output: {"type":"array","items":{"type":"number","minimum":-273.15}} <nil>
}

// Color is a string type with a few values.
type Color string

// JSONSchema implements schema.Describer.
func (Color) JSONSchema() jsontext.Value {
	return jsontext.Value(`{"type":"string","enum":["red","green"]}`)
}

// A string type can have its values in one place, for all of its fields.
func ExampleDescriber_string() {
	type Paint struct {
		Wall  Color `json:"wall"`
		Floor Color `json:"floor,omitempty" doc:"the color of the wall if it is missing"`
	}
	text, err := schema.For[Paint](schema.Input)
	fmt.Println(text, err)
	// Output: {"type":"object","properties":{"wall":{"type":"string","enum":["red","green"]},"floor":{"description":"the color of the wall if it is missing","type":"string","enum":["red","green"]}},"required":["wall"],"additionalProperties":false} <nil>
}

// The type of another package gets a schema by an option.
func ExampleDescribe() {
	type Transfer struct {
		Amount *big.Int `json:"amount"`
	}
	amount := schema.Describe[big.Int](jsontext.Value(`{"type":"integer","minimum":1}`))
	text, err := schema.For[Transfer](schema.Input, amount)
	fmt.Println(text, err)
	// Output: {"type":"object","properties":{"amount":{"type":"integer","minimum":1}},"additionalProperties":false} <nil>
}

// A circle or a square.
func ExampleAnyOf() {
	text, _ := schema.AnyOf(
		schema.Object(schema.Required("radius", schema.Number())),
		schema.Object(schema.Required("side", schema.Number())),
	).JSON()
	fmt.Println(text)
	// Output: {"anyOf":[{"type":"object","properties":{"radius":{"type":"number"}},"required":["radius"],"additionalProperties":false},{"type":"object","properties":{"side":{"type":"number"}},"required":["side"],"additionalProperties":false}]}
}

func ExampleSchema_Nullable() {
	text, _ := schema.String().Enum("sun", "snow").Nullable().JSON()
	fmt.Println(text)
	// Output: {"type":["string","null"],"enum":["sun","snow",null]}
}
