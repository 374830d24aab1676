package jsonschema_test

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
)

func TestViolationsSayWhatWouldBeRight(t *testing.T) {
	t.Parallel()
	tests := []struct{ schema, instance, want string }{
		{`{"type":"string"}`, `1`, `arguments: want string, got number`},
		{`{"type":["string","null"]}`, `[]`, `arguments: want null or string, got array`},
		{`{"properties":{"date":{"format":"date"}}}`, `{"date":"tomorrow"}`, `arguments/date: want format date, got "tomorrow"`},
		{`{"required":["a","b"],"properties":{"a":{"type":"string"}}}`, `{}`, `arguments: missing "a" (string), "b"`},
		{`{"properties":{"a":{},"b":{}},"additionalProperties":false}`, `{"c":1,"B":2}`, `arguments: unknown property "B", "c": want one of "a", "b"`},
		{`{"additionalProperties":false}`, `{"c":1}`, `arguments: unknown property "c": want none`},
		{`{"unevaluatedProperties":false}`, `{"c":1}`, `arguments/c: is not allowed here`},
		{`{"enum":["a",1,null,[]]}`, `"b"`, `arguments: want one of "a", 1, null, an array, got "b"`},
		{`{"enum":[true]}`, `{}`, `arguments: want true, got an object`},
		{`{"const":"a"}`, `"b"`, `arguments: want "a", got "b"`},
		{`{"pattern":"^a$"}`, `"b\u0007"`, `arguments: want a match of "^a$", got "b\a"`},
		{`{"minimum":1.5}`, `1`, `arguments: want at least 1.5, got 1`},
		{`{"maximum":1}`, `1.25`, `arguments: want at most 1, got 1.25`},
		{`{"exclusiveMinimum":1}`, `1`, `arguments: want more than 1, got 1`},
		{`{"exclusiveMaximum":1}`, `1`, `arguments: want less than 1, got 1`},
		{`{"multipleOf":0.1}`, `0.25`, `arguments: want a multiple of 0.1, got 0.25`},
		{`{"minLength":2}`, `"é"`, `arguments: want at least 2 characters, got 1`},
		{`{"maxLength":1}`, `"ab"`, `arguments: want at most 1 character, got 2`},
		{`{"minItems":1}`, `[]`, `arguments: want at least 1 element, got 0`},
		{`{"maxItems":0}`, `[1]`, `arguments: want at most 0 elements, got 1`},
		{`{"minProperties":2}`, `{}`, `arguments: want at least 2 properties, got 0`},
		{`{"maxProperties":0}`, `{"a":1}`, `arguments: want at most 0 properties, got 1`},
		{`{"uniqueItems":true}`, `[1,2,1.0]`, `arguments: elements 0 and 2 are equal`},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `arguments: "a" is there, so "b" has to be`},
		{`{` + draft07 + `,"dependencies":{"a":["b"]}}`, `{"a":1}`, `arguments: "a" is there, so "b" has to be`},
		{`{` + draft07 + `,"items":[{}],"additionalItems":false}`, `[1,2,3]`, `arguments: the last 2 elements are too many`},
		{`{"not":{"type":"string"}}`, `"a"`, `arguments: is what the schema excludes`},
		{`false`, `1`, `arguments: is not allowed here`},
		{`{"contains":{"const":1}}`, `[2]`, `arguments: want an element that fits; none does`},
		{`{"contains":{"const":1},"minContains":2}`, `[1]`, `arguments: want at least 2 elements that fit, got 1`},
		{`{"contains":{"const":1},"maxContains":1}`, `[1,1]`, `arguments: want at most 1 element that fit, got 2`},
		{`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, `arguments: property name "ab": want at most 1 character, got 2`},
		{`{"anyOf":[{"type":"string"},{"type":["null","integer"]}]}`, `true`, `arguments: want integer or null or string, got boolean`},
		{`{"anyOf":[{"type":"string"},{"required":["a"]}]}`, `{}`, `arguments: fits no alternative (want string, got object; or missing "a")`},
		{`{"oneOf":[{"properties":{"a":{"const":1}}},{"properties":{"a":{"const":2}}}]}`, `{"a":3}`, `arguments: fits no alternative (/a: want 1, got 3; or /a: want 2, got 3)`},
		{`{"oneOf":[true,true]}`, `1`, `arguments: fits alternatives 1 and 2, want exactly one`},
		{`{"allOf":[{"minimum":3},{"multipleOf":2}]}`, `1`, `arguments: want a multiple of 2, got 1; arguments: want at least 3, got 1`},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"items":{"type":"string"}}}}`, `["a",1]`, `arguments/1: want string, got number`},
		{`{"items":{"type":"string"}}`, `[` + strings.Repeat("1,", 14) + `1]`, `arguments/0: want string, got number; arguments/1: want string, got number; arguments/2: want string, got number; arguments/3: want string, got number; arguments/4: want string, got number; arguments/5: want string, got number; arguments/6: want string, got number; arguments/7: want string, got number; arguments/8: want string, got number; arguments/9: want string, got number; and 5 more`},
		{`{"additionalProperties":{"type":"string"}}`, `{"a/b~\n":1}`, `arguments/a~1b~0\n: want string, got number`},
		{`{"enum":["a"]}`, `"` + strings.Repeat("ü", 65) + `"`, `arguments: want "a", got "` + strings.Repeat("ü", 64) + `"…`},
		{`{"maximum":1}`, `1e500`, `arguments: number too long`},
		{`{}`, `{"a":[1e-9999999999999999999999]}`, `arguments/a/0: number too long`},
		{`{"maximum":1}`, `1` + strings.Repeat("0", 80), `arguments: want at most 1, got 1` + strings.Repeat("0", 63) + `…`},
		{`{}`, strings.Repeat("[", 257) + strings.Repeat("]", 257), `arguments` + strings.Repeat("/0", 32) + `…: nested deeper than 256`},
	}
	for _, tt := range tests {
		v, err := jsonschema.Compile(jsontext.Value(tt.schema), nil)
		if err != nil {
			t.Errorf("%s: %v", tt.schema, err)
			continue
		}
		for range 5 { // the library walks maps in random order
			err = v.Validate(jsontext.Value(tt.instance))
			e, ok := errors.AsType[*jsonschema.ValidationError](err)
			if !ok {
				t.Errorf("%s on %s: got %v, want a *ValidationError", tt.schema, tt.instance, err)
				break
			}
			if e.Subject = "arguments"; e.Error() != tt.want {
				t.Errorf("%s on %s:\ngot  %s\nwant %s", tt.schema, tt.instance, e, tt.want)
			}
		}
	}
}

func TestViolationsHavePointersThatResolve(t *testing.T) {
	t.Parallel()
	v, err := jsonschema.Compile(jsontext.Value(`{"additionalProperties":{"items":{"type":"string"}}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("n", 100) + "/~"
	err = v.Validate(fmt.Appendf(nil, `{%q:["x",7]}`, name))
	e, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok || len(e.Violations) != 1 {
		t.Fatalf("got %v, want one violation", err)
	}
	if got, want := e.Violations[0].Pointer, "/"+strings.Repeat("n", 100)+"~1~0/1"; got != want {
		t.Errorf("got pointer %s, want %s", got, want)
	}
}

func TestNumbersAreExact(t *testing.T) {
	t.Parallel()
	tests := []struct {
		schema, instance string
		valid            bool
	}{
		{`{"const":9007199254740993}`, `9007199254740993`, true},
		{`{"const":9007199254740993}`, `9007199254740992`, false},
		{`{"maximum":123456789012345678901234567890}`, `123456789012345678901234567890`, true},
		{`{"maximum":123456789012345678901234567890}`, `123456789012345678901234567891`, false},
		{`{"enum":[18446744073709551616]}`, `18446744073709551617`, false},
		{`{"enum":[1.0]}`, `1`, true},
		{`{"enum":[100]}`, `1e2`, true},
		{`{"type":"integer"}`, `1e300`, true},
		{`{"type":"integer"}`, `1.00000000000000000000000000000001`, false},
		{`{"multipleOf":0.01}`, `0.07`, true},
		{`{"multipleOf":0.01}`, `19.99`, true},
		{`{"minimum":0}`, `-0.0`, true},
		{`{"uniqueItems":true}`, `[9007199254740993,9007199254740992]`, true},
		{`{"exclusiveMinimum":0.1}`, `0.1`, false},
	}
	for _, tt := range tests {
		v, err := jsonschema.Compile(jsontext.Value(tt.schema), nil)
		if err != nil {
			t.Errorf("%s: %v", tt.schema, err)
			continue
		}
		if err := v.Validate(jsontext.Value(tt.instance)); (err == nil) != tt.valid {
			t.Errorf("%s on %s: got %v, want valid %v", tt.schema, tt.instance, err, tt.valid)
		}
	}
}

func TestInvalidJSONValues(t *testing.T) {
	t.Parallel()
	v, err := jsonschema.Compile(jsontext.Value(`{}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{``, `{`, `1 2`, `{"a":1,"a":1}`, "\"\xff\"", `nul`, `01`, `[1,]`, `{"a"}`} {
		err := v.Validate(jsontext.Value(text))
		if _, ok := errors.AsType[*jsonschema.ValidationError](err); err == nil || ok {
			t.Errorf("%q: got %v, want an error that is not about the schema", text, err)
		}
	}
}
