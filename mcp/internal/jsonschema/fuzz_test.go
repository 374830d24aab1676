package jsonschema_test

import (
	"encoding/json/jsontext"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
)

var seedSchemas = []string{
	`{}`, `true`, `{"type":"object","properties":{"a":{"type":"string","pattern":"^a"}},"required":["a"],"additionalProperties":false}`,
	`{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"},{"$ref":"#/$defs/b"}]},"b":{"minimum":1}}}`,
	`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"$id":"#a"}},"items":[{"$ref":"#a"}],"additionalItems":false}`,
	`{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`,
	`{"$dynamicAnchor":"x","anyOf":[{"not":{"$dynamicRef":"#x"}}]}`,
	`{"$id":"urn:x","$ref":"file:///etc/hostname"}`,
	`{"patternProperties":{"(?=a)":{},"^b{1,900}":{}},"propertyNames":{"maxLength":3},"unevaluatedProperties":{"format":"regex"}}`,
	`{"if":{"contains":{"const":1}},"then":{"uniqueItems":true,"prefixItems":[{"enum":[1,"a",null]}]},"else":{"dependentSchemas":{"a":{"oneOf":[{},{}]}}}}`,
	`{"minimum":1e400,"multipleOf":0.1,"maximum":-0,"$recursiveRef":"#"}`,
}

var seedValues = []string{
	`{}`, `{"a":"abc"}`, `{"a":{"a":{"a":{"a":1}}}}`, `[1,1,"a",null]`, `1e300`, `"x"`, `[[],{},[[1]]]`, `{"b":1,"c":"("}`, `1e99999999`, `{`,
}

// FuzzCompileBounds checks that no text of a schema, and no value under a schema
// that was accepted, makes the package panic. One that makes it run for long hangs
// the test.
func FuzzCompileBounds(f *testing.F) {
	for _, s := range seedSchemas {
		for _, v := range seedValues {
			f.Add(s, v)
		}
	}
	f.Fuzz(func(t *testing.T, text, instance string) {
		v, err := jsonschema.Compile(jsontext.Value(text), &jsonschema.Limits{Work: 100_000})
		if err == nil {
			err = v.Validate(jsontext.Value(instance))
		}
		if err != nil && strings.Contains(err.Error(), "schema library: ") {
			t.Errorf("%s on %s: a panic of the library: %v", text, instance, err)
		}
		_, _ = jsonschema.HeaderParams(jsontext.Value(text), false)
		_ = jsonschema.CheckElicitation(jsontext.Value(text), true)
		_, _ = jsonschema.Lazy(jsontext.Value(text), nil).ApplyDefaults(jsontext.Value(instance))
	})
}

// FuzzValidate checks what holds for every error about a value.
func FuzzValidate(f *testing.F) {
	for i := range seedSchemas {
		for _, v := range seedValues {
			f.Add(i, v)
		}
	}
	f.Fuzz(func(t *testing.T, i int, instance string) {
		v, err := jsonschema.Compile(jsontext.Value(seedSchemas[uint(i)%uint(len(seedSchemas))]), &jsonschema.Limits{Work: 100_000})
		if err != nil {
			return
		}
		first := v.Validate(jsontext.Value(instance))
		if second := v.Validate(jsontext.Value(instance)); !sameText(first, second) {
			t.Errorf("%s: got %v, then %v", instance, first, second)
		}
		e, ok := errors.AsType[*jsonschema.ValidationError](first)
		if !ok {
			return
		}
		if n := len(e.Violations); n == 0 || n > 10 {
			t.Errorf("%s: %d violations", instance, n)
		}
		if text := e.Error(); strings.ContainsFunc(text, unicode.IsControl) || !utf8.ValidString(text) {
			t.Errorf("%s: the error is not clean: %q", instance, text)
		}
		for _, violation := range e.Violations {
			if !resolves(jsontext.Value(instance), violation.Pointer) {
				t.Errorf("%s: %s: there is no such place", instance, violation.Pointer)
			}
		}
	})
}

func sameText(a, b error) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Error() == b.Error()
}

// resolves reports whether the pointer leads to a value in text.
func resolves(text jsontext.Value, pointer string) bool {
	dec := jsontext.NewDecoder(strings.NewReader(string(text)))
	for {
		if _, err := dec.ReadToken(); err != nil {
			return false
		}
		if string(dec.StackPointer()) == pointer {
			return true
		}
	}
}
