package mcpmodel

import (
	"encoding/json/jsontext"
	"strings"
	"testing"
)

var fuzzedAPIs = []*API{
	Anthropic, OpenAIChat, OpenAIResponses, Gemini,
	Anthropic.With(Options{Strict: true}), OpenAIChat.With(Options{Strict: true}),
}

// A lowered schema has only what the rules of the API take, and lowering it changes nothing.
func FuzzLowerSchema(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"object","properties":{"c":{"$ref":"#/$defs/b"}}}}}`,
		`{"anyOf":[{"required":["a"]},{"properties":{"b":{"type":["string","integer","null"],"enum":["x",1,null]}}}]}`,
		`{"allOf":[{"type":"object"},{"properties":{"a":{"const":true},"b":{"type":"array","prefixItems":[{"type":"string"}]}}}],"required":["c"]}`,
		`{"type":"object","additionalProperties":{"oneOf":[{"type":"string","format":"uri"},{"type":"null"}]},"minProperties":1}`,
		`{"type":"object","properties":{"a":{"anyOf":[{"anyOf":[{"type":"string"}],"description":"x"},false,{"type":"string"}],"default":1}}}`,
		`{"properties":{"":{"nullable":true,"type":"integer","exclusiveMaximum":3}},"required":[""]}`,
		`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{}},"required":["b"]}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, api := range fuzzedAPIs {
			checkLowering(t, api, text)
		}
	})
}

// checkLowering lowers a schema and fails if the API does not take the result, or if it changes
// when it is lowered again.
func checkLowering(t *testing.T, api *API, text jsontext.Value) {
	t.Helper()
	l, err := api.lower(text)
	if err != nil {
		return
	}
	r := api.rules
	if l.strict {
		r = r.strict
	}
	if found := checkSchema(l.text, r); len(found) > 0 {
		t.Fatalf("%s: %s\nfrom %s\nhas %v", api, l.text, text, found)
	}
	again, err := api.lower(l.text)
	if err != nil {
		t.Fatalf("%s: %s\nfrom %s\nis not lowered again: %v", api, l.text, text, err)
	}
	if string(again.text) != string(l.text) {
		t.Fatalf("%s: %s\nfrom %s\nbecomes\n%s", api, l.text, text, again.text)
	}
}

// The checker finds each rule, so what the fuzz target accepts means something.
func TestCheckerFindsWhatTheRulesForbid(t *testing.T) {
	t.Parallel()
	tests := []struct {
		rules        *rules
		schema, want string
	}{
		{&anthropic, `{}`, `/inputSchema/type: found nothing, want "object"`},
		{&anthropic, `{"type":"object","anyOf":[]}`, "/inputSchema/anyOf: anyOf at the root"},
		{&anthropic, `{"type":"object","properties":{"$a":{}}}`, "/inputSchema/properties/$a: the name of the property"},
		{&anthropic, `{"type":"object","properties":{"a":{"$ref":"#"}}}`, "found a reference"},
		{&openAIChat, `{"type":"object","properties":{"a":{"type":"array"}}}`, "/inputSchema/properties/a: an array without items"},
		{&gemini, `{"type":"object","properties":{"a":{"const":1}}}`, `the keyword "const" is not taken`},
		{&gemini, `{"type":"object","properties":{"a":{"enum":[true]}}}`, "found the value \"true\", want values of other types"},
		{&gemini, `{"type":"object","properties":{"a":{"format":"uri"}}}`, `the format "uri" is not taken`},
		{&gemini, `{"type":"object","properties":{"a":{"type":["string","integer"]}}}`, "several types, want anyOf"},
		{&openAIStrict, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, "additionalProperties is missing"},
		{&openAIStrict, `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`, `the property "a" is not required`},
		{&openAIStrict, `{"type":"object","properties":` + strings.Repeat(`{"a":{"type":"object","properties":`, 10) + `{}` + strings.Repeat(`}}`, 10) + `}`, "has 11 levels, want at most 10"},
		{&openAIStrict, `{"type":"object","properties":{"a":{"enum":[` + strings.Repeat(`"`+strings.Repeat("x", 58)+`",`, 250) + `"y"]}}}`, "has 15003 characters in an enum with more than 250 values, want at most 15000"},
		{&anthropicStrict, `{"type":"object","properties":{"a":{"type":"array","items":{},"minItems":2}},"additionalProperties":false}`, "want 0 or 1"},
		{&anthropicStrict, `{"type":"object","properties":{"a":{"type":"integer","minimum":2}},"additionalProperties":false}`, `the keyword "minimum" is not taken`},
	}
	for _, tt := range tests {
		var all []string
		for _, f := range checkSchema(jsontext.Value(tt.schema), tt.rules) {
			all = append(all, f.Place+": "+f.Text)
		}
		if text := strings.Join(all, "\n"); !strings.Contains(text, tt.want) {
			t.Errorf("%s: %s: got %q, want %q", tt.rules.name, tt.schema, text, tt.want)
		}
	}
}

// Every keyword of the table is one that this package writes, so no row is without effect.
func TestTableNamesKeywordsThatAreWritten(t *testing.T) {
	t.Parallel()
	for _, r := range []*rules{&anthropic, &anthropicStrict, &openAIChat, &openAIResponses, &openAIStrict, &gemini} {
		for _, keyword := range r.keywords {
			known := map[string]bool{"prefixItems": true}
			for _, k := range jsonSchemaKeywords {
				known[k] = true
			}
			if !known[keyword] {
				t.Errorf("%s: the keyword %q is not written by this package", r.name, keyword)
			}
		}
		for _, kind := range []string{"type", "description", "items", "properties", "required", "additionalProperties", "anyOf"} {
			if !r.takes(kind) {
				t.Errorf("%s: does not take %q, without which no schema can be written", r.name, kind)
			}
		}
	}
}

// FuzzLowerGeneratedSchema lowers schemas that are built from the bytes, which reaches
// combinations of keywords that a change of bytes seldom does.
func FuzzLowerGeneratedSchema(f *testing.F) {
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz"))
	f.Add([]byte("\x05\x01\x02\x03\x07\x09\x0b\x0d\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09"))
	f.Fuzz(func(t *testing.T, choices []byte) {
		g := &schemaGenerator{choices: choices}
		text := g.schema(0)
		for _, api := range fuzzedAPIs {
			checkLowering(t, api, jsontext.Value(text))
		}
	})
}

// schemaGenerator builds a schema from a sequence of choices.
type schemaGenerator struct{ choices []byte }

func (g *schemaGenerator) choose(n int) int {
	if len(g.choices) == 0 {
		return 0
	}
	c := int(g.choices[0])
	g.choices = g.choices[1:]
	return c % n
}

func (g *schemaGenerator) schema(depth int) string {
	if depth > 5 || len(g.choices) == 0 {
		return []string{`{}`, `true`, `false`, `{"type":"string"}`}[g.choose(4)]
	}
	var members []string
	seen := make(map[string]bool)
	add := func(name, value string) {
		if !seen[name] {
			seen[name] = true
			members = append(members, `"`+name+`":`+value)
		}
	}
	for range g.choose(5) + 1 {
		switch g.choose(18) {
		case 0, 1:
			add("type", []string{`"object"`, `"string"`, `"array"`, `["string","null"]`, `["object","integer","null"]`, `"null"`, `["number","boolean"]`}[g.choose(7)])
		case 2, 3, 4:
			add("properties", `{"a":`+g.schema(depth+1)+`,"b$":`+g.schema(depth+1)+`}`)
		case 5:
			add("required", []string{`["a"]`, `["c"]`, `["a","c"]`, `[]`}[g.choose(4)])
		case 6:
			add("additionalProperties", g.schema(depth+1))
		case 7:
			add("items", g.schema(depth+1))
		case 8:
			add("prefixItems", `[`+g.schema(depth+1)+`,`+g.schema(depth+1)+`]`)
		case 9, 10:
			add("anyOf", `[`+g.schema(depth+1)+`,`+g.schema(depth+1)+`]`)
		case 11:
			add("oneOf", `[`+g.schema(depth+1)+`,`+g.schema(depth+1)+`,`+g.schema(depth+1)+`]`)
		case 12:
			add("allOf", `[`+g.schema(depth+1)+`,`+g.schema(depth+1)+`]`)
		case 13:
			add("enum", []string{`["x",null]`, `[1,2]`, `[true]`, `[{"a":1},"x"]`, `[]`, `[null]`}[g.choose(6)])
		case 14:
			add("const", []string{`"x"`, `null`, `1`, `[]`}[g.choose(4)])
		case 15:
			add([]string{"minItems", "minimum", "maxLength", "minProperties", "multipleOf"}[g.choose(5)], []string{`1`, `2.5`, `7`}[g.choose(3)])
		case 16:
			add([]string{"format", "pattern", "description", "title", "default"}[g.choose(5)], []string{`"date"`, `"uri"`, `"x"`}[g.choose(3)])
		case 17:
			add("$ref", []string{`"#"`, `"#/properties/a"`, `"#/anyOf/0"`, `"#/items"`}[g.choose(4)])
		}
	}
	if g.choose(4) == 0 {
		add("nullable", "true")
	}
	return `{` + strings.Join(members, ",") + `}`
}
