package jsonschema_test

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
)

const draft07 = `"$schema":"http://json-schema.org/draft-07/schema#"`

func TestSupportedDialects(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-351a", "R-351b", "R-351c")
	for _, name := range []string{
		"https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2020-12/schema#",
		"http://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema", "https://json-schema.org/draft-07/schema#",
	} {
		if _, err := jsonschema.Compile(jsontext.Value(`{"$schema":"`+name+`"}`), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{
		"http://json-schema.org/draft-04/schema#", "https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/schema",
		"https://example.com/meta", "", "draft-07", "https://json-schema.org/draft/2020-12/schema#x", "file:///etc/passwd", "ftp://json-schema.org/draft-07/schema",
	} {
		_, err := jsonschema.Compile(jsontext.Value(`{"$schema":"`+name+`"}`), nil)
		if e, ok := errors.AsType[*jsonschema.DialectError](err); !ok || e.Dialect != name {
			t.Errorf("%q: got %v, want a *DialectError", name, err)
		}
	}
	_, err := jsonschema.Compile(jsontext.Value(`{"$schema":"https://json-schema.org/draft/2019-09/schema"}`), nil)
	const want = `schema: $schema "https://json-schema.org/draft/2019-09/schema": want https://json-schema.org/draft/2020-12/schema or http://json-schema.org/draft-07/schema`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Each schema means different things in the two dialects.
func TestDialectsAreDocumented(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-351d")
	page, err := os.ReadFile("../../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := "| dialects | 2020-12, which is the default, and draft-07 |"; !strings.Contains(string(page), want) {
		t.Errorf("docs/limits.md: want %q in it", want)
	}
}

func TestDialectsDiffer(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-351b")
	tests := []struct {
		keywords, instance string
		in2020, in07       bool
	}{
		{`"prefixItems":[{"type":"string"}]`, `[1]`, false, true},
		{`"dependentRequired":{"a":["b"]}`, `{"a":1}`, false, true},
		{`"properties":{"a":true},"unevaluatedProperties":false`, `{"b":1}`, false, true},
		{`"contains":{"type":"string"},"minContains":0`, `[1]`, true, false},
		{`"$defs":{"s":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/s","maxLength":1}}`, `{"a":"xx"}`, false, true},
		{`"$defs":{"s":{"$anchor":"s","type":"string"}},"properties":{"a":{"$ref":"#/$defs/s"}}`, `{"a":1}`, false, false},
		{`"definitions":{"s":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/s"}}`, `{"a":1}`, false, false},
		{`"format":"date"`, `"tomorrow"`, false, false},
		{`"format":"unheard-of"`, `"x"`, true, true},
		{`"contentEncoding":"base64"`, `"%"`, true, true},
		{`"type":"integer"`, `1.0`, true, true},
	}
	for _, tt := range tests {
		for dialect, want := range map[string]bool{"": tt.in2020, draft07 + ",": tt.in07} {
			v, err := jsonschema.Compile(jsontext.Value("{"+dialect+tt.keywords+"}"), nil)
			if err != nil {
				t.Errorf("{%s%s}: %v", dialect, tt.keywords, err)
				continue
			}
			if err := v.Validate(jsontext.Value(tt.instance)); (err == nil) != want {
				t.Errorf("{%s%s} on %s: got %v, want valid %v", dialect, tt.keywords, tt.instance, err, want)
			}
		}
	}
	for keywords, want := range map[string]string{
		`"items":[{"type":"string"}]`:         "2020-12",
		`"definitions":{"a":{"$id":"#name"}}`: "2020-12",
	} {
		if _, err := jsonschema.Compile(jsontext.Value("{"+keywords+"}"), nil); err == nil {
			t.Errorf("{%s} is accepted in %s", keywords, want)
		}
		if _, err := jsonschema.Compile(jsontext.Value("{"+draft07+","+keywords+"}"), nil); err != nil {
			t.Errorf("{%s} in draft-07: %v", keywords, err)
		}
	}
}

func TestInvalidSchemasAreErrors(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-207a", "R-352")
	tests := []struct{ text, want string }{
		{``, `schema: no JSON value`},
		{`null`, `schema: want an object, true or false`},
		{`[]`, `schema: want an object, true or false`},
		{`{} {}`, `schema: more than one JSON value`},
		{`{"type":"object","type":"object"}`, `schema: jsontext: duplicate object member name "type"`},
		{`{"$schema":7}`, `schema: $schema: want a string`},
		{`{"type":"strin"}`, `schema: /type: fits no alternative`},
		{`{"properties":{"a":{"minLength":-1}}}`, `schema: /properties/a/minLength: want at least 0, got -1`},
		{`{"properties":{"a":7}}`, `schema: /properties/a: want boolean or object, got number`},
		{`{"required":["a","a"]}`, `schema: /required: elements 0 and 1 are equal`},
		{`{"minimum":1e999999}`, `schema: /minimum: number too long`},
		{`{"$ref":"#/$defs/a"}`, `schema: $ref "#/$defs/a": no subschema of that name here`},
		{`{"$ref":"#a"}`, `schema: $ref "#a": no subschema of that name here`},
		{`{"$ref":"#/title","title":"x"}`, `schema: $ref "#/title": no subschema of that name here`},
		{`{"$ref":"#/x","x":{"type":"string"}}`, `schema: $ref "#/x": no subschema of that name here`},
		{`{"$ref":"#/allOf/00","allOf":[{}]}`, `schema: $ref "#/allOf/00": no subschema of that name here`},
		{`{"$ref":"%zz"}`, `schema: $ref "%zz": want a URI reference`},
		{`{"$anchor":"a","properties":{"x":{"$anchor":"a"}}}`, `schema: duplicate anchor "a"`},
		{`{"properties":{"x":{` + draft07 + `}}}`, `schema: /properties/x: $schema inside a schema: want one dialect per document`},
	}
	for _, tt := range tests {
		_, err := jsonschema.Compile(jsontext.Value(tt.text), nil)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.text, err, tt.want)
		}
	}
}

func TestReferencesInsideTheDocument(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"string"}}}`,
		`{"properties":{"a":{"$ref":"#s"}},"$defs":{"s":{"$anchor":"s","type":"string"}}}`,
		`{"properties":{"a":{"$dynamicRef":"#s"}},"$defs":{"s":{"$dynamicAnchor":"s","type":"string"}}}`,
		`{"$id":"https://example.com/a/b","properties":{"a":{"$ref":"https://example.com/a/b#/$defs/s"}},"$defs":{"s":{"type":"string"}}}`,
		`{"$id":"https://example.com/a/b","properties":{"a":{"$ref":"b#/$defs/s"}},"$defs":{"s":{"type":"string"}}}`,
		`{"$id":"urn:example:b","properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"string"}}}`,
		`{"properties":{"a":{"$ref":"#/$defs/a~1b%25"}},"$defs":{"a/b%":{"type":"string"}}}`,
		`{"properties":{"a":{"$ref":"#/properties/b/items/0"},"b":{"items":[{"type":"string"}]}},` + draft07 + `}`,
		`{"properties":{"a":{"$ref":"#s"}},"definitions":{"s":{"$id":"#s","type":"string"}},` + draft07 + `}`,
		`{"properties":{"a":{"type":"string"},"n":{"$ref":"#"}}}`,
	} {
		v, err := jsonschema.Compile(jsontext.Value(text), nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if err := v.Validate(jsontext.Value(`{"a":"x"}`)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if err := v.Validate(jsontext.Value(`{"a":1}`)); err == nil || err.Error() != "/a: want string, got number" {
			t.Errorf("%s: got %v, want /a: want string, got number", text, err)
		}
	}
}

func TestPatternsBeyondRE2AreNotCheckedAndReported(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 1025)
	tests := []struct {
		text     string
		warnings string
		valid    []string
		invalid  []string
	}{
		{`{"type":"string","pattern":"^(?!x)"}`, `[{/pattern "^(?!x)" is not checked: invalid or unsupported Perl syntax}]`, []string{`"x"`}, []string{`1`}},
		{`{"pattern":"(a)\\1"}`, `[{/pattern "(a)\\1" is not checked: invalid escape sequence}]`, []string{`"x"`}, nil},
		{`{"pattern":"` + long + `"}`, `[{/pattern "` + long[:64] + `"… is not checked: longer than 1024 bytes}]`, []string{`"x"`}, nil},
		{`{"pattern":"([a-z]{1,100}[0-9]{1,9}){1,100}"}`, `[{/pattern "([a-z]{1,100}[0-9]{1,9}){1,100}" is not checked: invalid repeat count}]`, []string{`"%"`}, nil},
		{`{"pattern":"(aaaaaaaaaaaaaaaaaaaa){1000}"}`, `[{/pattern "(aaaaaaaaaaaaaaaaaaaa){1000}" is not checked: its repetitions need more than 10000 steps}]`, []string{`"%"`}, nil},
		{
			`{"patternProperties":{"^(?=a)":{"type":"string"},"^b":{"type":"integer"}},"additionalProperties":false}`,
			`[{/patternProperties "^(?=a)" is not checked: invalid or unsupported Perl syntax}]`,
			[]string{`{"c":1}`, `{"b":1}`},
			[]string{`{"b":"x"}`},
		},
		{`{"pattern":"^a"}`, `[]`, []string{`"ab"`}, []string{`"b"`}},
	}
	for _, tt := range tests {
		v, err := jsonschema.Compile(jsontext.Value(tt.text), nil)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if got := fmt.Sprint(v.Warnings()); got != tt.warnings {
			t.Errorf("%s: warnings\ngot  %s\nwant %s", tt.text, got, tt.warnings)
		}
		for _, instance := range tt.valid {
			if err := v.Validate(jsontext.Value(instance)); err != nil {
				t.Errorf("%s: %s: %v", tt.text, instance, err)
			}
		}
		for _, instance := range tt.invalid {
			if err := v.Validate(jsontext.Value(instance)); err == nil {
				t.Errorf("%s: %s is valid", tt.text, instance)
			}
		}
	}
}

func TestEqualTextsShareOneProgram(t *testing.T) {
	t.Parallel()
	text := jsontext.Value(`{"title":"shared"}`)
	validators := make([]*jsonschema.Validator, 8)
	var wg sync.WaitGroup
	for i := range validators {
		wg.Go(func() { validators[i], _ = jsonschema.Compile(text.Clone(), nil) })
	}
	wg.Wait()
	for _, v := range validators[1:] {
		if !jsonschema.SamePrograms(v, validators[0]) {
			t.Error("the same text was compiled twice")
		}
	}
	other, err := jsonschema.Compile(text, &jsonschema.Limits{Work: 1})
	if err != nil {
		t.Fatal(err)
	}
	if jsonschema.SamePrograms(other, validators[0]) {
		t.Error("different limits share a program")
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	var texts []jsontext.Value
	for i := range 100 {
		texts = append(texts, fmt.Appendf(nil, `{"title":"%03d"}`, i))
	}
	if n, size := jsonschema.Cached(10, 1000, texts...); n != 10 || size != 150 {
		t.Errorf("got %d entries of %d bytes, want 10 of 150", n, size)
	}
	if n, size := jsonschema.Cached(10, 100, texts...); n != 6 || size != 90 {
		t.Errorf("got %d entries of %d bytes, want 6 of 90", n, size)
	}
	if n, size := jsonschema.Cached(10, 10, texts...); n != 0 || size != 0 {
		t.Errorf("got %d entries of %d bytes, want none", n, size)
	}
}

func TestLazySchemaReportsItsErrorOnUse(t *testing.T) {
	t.Parallel()
	v := jsonschema.Lazy(jsontext.Value(`{"type":7}`), nil)
	err := v.Validate(jsontext.Value(`1`))
	if _, ok := errors.AsType[*jsonschema.ValidationError](err); ok || err == nil {
		t.Errorf("got %v, want an error that is not about the value", err)
	}
	if v.Warnings() != nil {
		t.Errorf("got %v, want no warnings", v.Warnings())
	}
}

func TestTextIsIndependentOfItsSource(t *testing.T) {
	t.Parallel()
	text := jsontext.Value(`{"type":"string"}`)
	v := jsonschema.Lazy(text, nil)
	copy(text, `{"type":"number"}`)
	if got := string(v.Text()); got != `{"type":"string"}` {
		t.Errorf("got %s", got)
	}
	if err := v.Validate(jsontext.Value(`"x"`)); err != nil {
		t.Error(err)
	}
}
