package schema_test

import (
	"encoding/json/jsontext"
	"fmt"
	"math/big"
	"reflect"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/schema"
)

type badOwn struct{}

func (badOwn) JSONSchema() jsontext.Value { return jsontext.Value(`{"type":"strin"}`) }

type noObject struct{}

func (noObject) JSONSchema() jsontext.Value { return jsontext.Value(`[]`) }

type wide struct{ A, B, C, D, E, F, G, H wide2 }

type (
	wide2 struct{ A, B, C, D, E, F, G, H wide3 }
	wide3 struct{ A, B, C, D, E, F, G, H wide4 }
	wide4 struct{ A, B, C, D, E, F, G, H int }
)

func TestTypesAndTagsThatMakeNoSenseAreErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		typ  reflect.Type
		use  schema.Use
		want string
	}{
		{reflect.TypeFor[struct {
			Number string `pattern:"[A-Z"`
		}](), 0, `field Number: pattern "[A-Z": missing closing ]`},
		{reflect.TypeFor[struct {
			Number string `pattern:"(?=x)"`
		}](), 0, `field Number: pattern "(?=x)": invalid or unsupported Perl syntax`},
		{reflect.TypeFor[struct {
			Age int `min:"x"`
		}](), 0, `field Age: min "x": want a number`},
		{reflect.TypeFor[struct {
			Age int `min:"1.5"`
		}](), 0, `field Age: min "1.5": want a whole number`},
		{reflect.TypeFor[struct {
			Age uint8 `max:"256"`
		}](), 0, `field Age: max "256": want a number within the range of the Go type`},
		{reflect.TypeFor[struct {
			Age uint `min:"-1"`
		}](), 0, `field Age: min "-1": want a number within the range of the Go type`},
		{reflect.TypeFor[struct {
			Age float64 `max:"1e999999"`
		}](), 0, `field Age: max "1e999999": want a number`},
		{reflect.TypeFor[struct {
			Age int `min:"5" max:"4"`
		}](), 0, `field Age: min "5": greater than max "4"`},
		{reflect.TypeFor[struct {
			Age int `multiple:"0"`
		}](), 0, `field Age: multiple "0": want a number greater than 0`},
		{reflect.TypeFor[struct {
			Name string `min:"1"`
		}](), 0, `field Name: min on a string: use minlen`},
		{reflect.TypeFor[struct {
			Names []string `max:"1"`
		}](), 0, `field Names: max on an array: use maxitems`},
		{reflect.TypeFor[struct {
			Age int `maxlen:"1"`
		}](), 0, `field Age: maxlen on an integer: use max`},
		{reflect.TypeFor[struct {
			Name string `minlen:"-1"`
		}](), 0, `field Name: minlen "-1": want a whole number from 0 to 2147483647`},
		{reflect.TypeFor[struct {
			Name string `minlen:"2" maxlen:"1"`
		}](), 0, `field Name: minlen "2": greater than maxlen "1"`},
		{reflect.TypeFor[struct {
			Name string `unique:"true"`
		}](), 0, `field Name: unique on a string: it is for arrays`},
		{reflect.TypeFor[struct {
			Names []string `unique:"yes"`
		}](), 0, `field Names: unique "yes": want true, or leave it out`},
		{reflect.TypeFor[struct {
			On bool `pattern:"x"`
		}](), 0, `field On: pattern on a boolean: it is for strings`},
		{reflect.TypeFor[struct {
			On any `min:"1"`
		}](), 0, `field On: min on a value of any type: it is for integers, numbers`},
		{reflect.TypeFor[struct {
			Day string `format:"datetime"`
		}](), 0, `field Day: format "datetime": want one of date, date-time, duration, email, hostname, idn-email, idn-hostname, ipv4, ipv6, iri, iri-reference, json-pointer, regex, relative-json-pointer, time, uri, uri-reference, uri-template, uuid`},
		{reflect.TypeFor[struct {
			Day string `doc:""`
		}](), 0, `field Day: doc "": want a text that is not empty`},
		{reflect.TypeFor[struct {
			Size int `enum:"1|two"`
		}](), 0, `field Size: enum "1|two": want an integer`},
		{reflect.TypeFor[struct {
			Size string `enum:"a|b|a"`
		}](), 0, `field Size: enum "a|b|a": "a" is given twice`},
		{reflect.TypeFor[struct {
			Size int `default:"1.5"`
		}](), 0, `field Size: default "1.5": want an integer`},
		{reflect.TypeFor[struct {
			Size int `default:"7" max:"5"`
		}](), 0, `field Size: default 7: value: want at most 5, got 7`},
		{reflect.TypeFor[struct {
			Size string `enum:"a|b" default:"c"`
		}](), 0, `field Size: default "c": value: want one of "a", "b", got "c"`},
		{reflect.TypeFor[struct {
			Day string `format:"date" example:"tomorrow"`
		}](), 0, `field Day: example "tomorrow": value: want format date, got "tomorrow"`},
		{reflect.TypeFor[struct {
			On bool `default:"yes"`
		}](), 0, `field On: default "yes": want a boolean`},
		{reflect.TypeFor[struct {
			Region string `header:"a b"`
		}](), 0, `field Region: header "a b": want letters, digits and hyphens`},
		{reflect.TypeFor[struct {
			Region float64 `header:"R"`
		}](), 0, `field Region: header on a number: it is for strings, integers, booleans`},
		{reflect.TypeFor[struct {
			Trip struct {
				Legs []struct {
					From string `minlen:"x"`
				}
			}
		}](), 0, `field Trip.Legs.From: minlen "x": want a whole number from 0 to 2147483647`},
		{reflect.TypeFor[struct{ D time.Duration }](), 0, `field D: time.Duration has no JSON form: use a string for time.ParseDuration, or a number with its unit in the name`},
		{reflect.TypeFor[struct{ D *big.Int }](), 0, `field D: big.Int reads and writes its own JSON: give it a method JSONSchema() jsontext.Value, or name its schema with the option Describe`},
		{reflect.TypeFor[struct{ C chan int }](), 0, "field C: chan int has no JSON form: leave the field out with `json:\"-\"`"},
		{reflect.TypeFor[struct{ F func() }](), 0, "field F: func() has no JSON form: leave the field out with `json:\"-\"`"},
		{reflect.TypeFor[struct{ C complex128 }](), 0, `field C: complex128 has no JSON form: use a struct of two numbers`},
		{reflect.TypeFor[struct{ M map[int]string }](), 0, `field M: map with int keys: use map[string]string`},
		{reflect.TypeFor[struct{ S fmt.Stringer }](), 0, `field S: interface fmt.Stringer: use a concrete type, or any`},
		{reflect.TypeFor[struct{ O noObject }](), 0, `field O: schema_test.noObject: JSONSchema returned "[]": want one JSON object`},
		{reflect.TypeFor[struct{ O badOwn }](), 0, `field O: schema_test.badOwn: JSONSchema: schema: /type: fits no alternative (want one of "array", "boolean", "integer", "null", "number", "object", "string", got "strin"; or want array, got string)`},
		{reflect.TypeFor[struct {
			T celsius `min:"1"`
		}](), 0, `field T: the schema of schema_test.celsius has minimum already`},
		{reflect.TypeFor[struct {
			A string `json:",string"`
		}](), 0, `field A: json option string: it is for numbers`},
		{reflect.StructOf([]reflect.StructField{
			{Name: "A", Type: reflect.TypeFor[string](), Tag: `json:"a,omitEmpty"`},
		}), 0, "struct { A string \"json:\\\"a,omitEmpty\\\"\" }: Go struct field A has invalid appearance of `omitEmpty` tag option; specify `omitempty` instead"},
		{reflect.TypeFor[wide](), 0, `field D.D.C.E: more than 2000 subschemas in all: use jsontext.Value for a part`},
		{reflect.TypeFor[struct{ Where struct{ X int } }](), schema.Elicitation, `form: field "Where": type "object": want string, number, integer or boolean`},
		{reflect.TypeFor[struct {
			Code string `pattern:"x"`
		}](), schema.Elicitation, `form: field "Code": pattern: a form has no such keyword for string; want some of minLength, maxLength, format, enum, enumNames, oneOf, default`},
	}
	for _, tt := range tests {
		text, err := schema.ForType(tt.typ, tt.use)
		if err == nil {
			t.Errorf("%s: got %s, want error %q", tt.typ, text, tt.want)
		} else if err.Error() != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.typ, err, tt.want)
		}
	}
}
