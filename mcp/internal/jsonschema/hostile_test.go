package jsonschema_test

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
)

func TestHostileSchemasAreRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-354a", "R-354b")
	doubling := func(n int, keyword string) string {
		var b strings.Builder
		b.WriteString(`{"$ref":"#/$defs/a0","$defs":{`)
		for i := range n {
			fmt.Fprintf(&b, `"a%d":{%q:[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, keyword, i+1, i+1)
		}
		fmt.Fprintf(&b, `"a%d":{"type":"integer"}}}`, n)
		return b.String()
	}
	chain := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"$ref":"#/$defs/a0","$defs":{`)
		for i := range n {
			fmt.Fprintf(&b, `"a%d":{"$ref":"#/$defs/a%d"},`, i, i+1)
		}
		fmt.Fprintf(&b, `"a%d":{}}}`, n)
		return b.String()
	}
	nested := func(n int, open, end string) string { return strings.Repeat(open, n) + "{}" + strings.Repeat(end, n) }
	const endless = `applies itself to the same value without end`
	const outside = `references outside the schema are not followed`
	tests := []struct{ name, text, want string }{
		{"cycle of $ref", `{"$ref":"#"}`, endless},
		{"cycle of two $ref", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, endless},
		{"cycle through allOf", `{"allOf":[{"$ref":"#"}]}`, endless},
		{"cycle through not", `{"not":{"anyOf":[{"oneOf":[{"$ref":"#/not"}]}]}}`, endless},
		{"cycle through if", `{"if":{"then":{"else":{"$ref":"#/if"}}}}`, endless},
		{"cycle through dependentSchemas", `{"dependentSchemas":{"a":{"$ref":"#"}}}`, endless},
		{"cycle through dependencies", `{` + draft07 + `,"dependencies":{"a":{"allOf":[{"$ref":"#"}]}}}`, endless},
		{"cycle through $dynamicRef", `{"$dynamicAnchor":"x","allOf":[{"$dynamicRef":"#x"}]}`, endless},
		{"cycle in unused $defs", `{"$defs":{"a":{"$ref":"#/$defs/a"}}}`, endless},
		{"cycle through an anchor", `{"$anchor":"a","anyOf":[{"$ref":"#a"}]}`, endless},
		{"2^60 allOf", doubling(60, "allOf"), `applies subschemas to one value in more than 10000 ways`},
		{"2^60 anyOf", doubling(60, "anyOf"), `applies subschemas to one value in more than 10000 ways`},
		{"2^60 oneOf", doubling(60, "oneOf"), `applies subschemas to one value in more than 10000 ways`},
		{"chain of references", chain(100), `applies a chain of more than 64 subschemas to one value`},
		{"deep not", nested(65, `{"not":`, `}`), `subschemas nested deeper than 64`},
		{"deep items", nested(65, `{"items":`, `}`), `subschemas nested deeper than 64`},
		{"deep properties", nested(65, `{"properties":{"a":`, `}}`), `subschemas nested deeper than 64`},
		{"deep const", `{"const":` + nested(300, `[`, `]`) + `}`, `nested deeper than 256`},
		{"very deep", nested(20_000, `{"not":`, `}`), `nested deeper than 256`},
		{"many subschemas", `{"allOf":[` + strings.Repeat(`true,`, 2000) + `true]}`, `more than 2000 subschemas`},
		{"long", `{"enum":[` + strings.Repeat(`1,`, 200_000) + `1]}`, `longer than 262144 bytes`},
		{"long names", `{"properties":{"` + strings.Repeat("n", 4096) + `":{"allOf":[` + strings.Repeat(`{},`, 300) + `{}]}}}`, `names of subschemas: more than 1048576 bytes in all`},
		{"many large patterns", `{"allOf":[` + manyPatterns(60) + `]}`, `patterns: more than 50000 steps in all`},
		{"http", `{"$ref":"http://127.0.0.1:1/x.json"}`, outside},
		{"https", `{"properties":{"a":{"$ref":"https://example.com/x.json#/a"}}}`, outside},
		{"file", `{"$ref":"file:///etc/hostname"}`, outside},
		{"mem", `{"$ref":"mem://x/y"}`, outside},
		{"relative", `{"$ref":"other.json"}`, outside},
		{"relative with urn", `{"$id":"urn:example:x","$ref":"other.json"}`, outside},
		{"absolute path", `{"$ref":"/etc/hostname"}`, outside},
		{"metaschema", `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, outside},
		{"dynamic", `{"$dynamicRef":"http://127.0.0.1:1/x.json#y"}`, outside},
		{"rebased root", `{"$id":"file:///etc/","$ref":"hostname"}`, outside},
		{"rebased", `{"$defs":{"a":{"$id":"file:///etc/","$ref":"hostname"}}}`, `$id "file:///etc/" inside a schema: want one document`},
		{"rebased with fragment", `{"$defs":{"a":{"$id":"http://127.0.0.1:1/#","$ref":"#/x"}}}`, `inside a schema: want one document`},
		{"nested dialect", `{"items":{"$schema":"http://127.0.0.1:1/meta"}}`, `$schema inside a schema: want one dialect per document`},
		{"unused part", `{"$defs":{"a":{"$ref":"http://127.0.0.1:1/x.json"}}}`, outside},
	}
	for _, tt := range tests {
		_, err := jsonschema.Compile(jsontext.Value(tt.text), nil)
		if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want …%s", tt.name, err, tt.want)
		}
	}
}

func TestSchemasAreNotLoadedFromURLs(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-353", "R-354a", "D-02c")
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		fmt.Fprint(w, `{}`)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "x.json")
	if err := os.WriteFile(file, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{server.URL + "/x.json", "file://" + filepath.ToSlash(file)} {
		for _, text := range []string{
			`{"$ref":"` + address + `"}`, `{"$dynamicRef":"` + address + `#a"}`, `{"$schema":"` + address + `"}`,
			`{"$id":"` + address + `","$ref":"y.json"}`, `{"items":{"$id":"` + address + `","$ref":"#/a"}}`, `{"items":{"$schema":"` + address + `"}}`,
		} {
			if _, err := jsonschema.Compile(jsontext.Value(text), nil); err == nil {
				t.Errorf("%s is accepted", text)
			}
		}
	}
	if n := requests.Load(); n > 0 {
		t.Errorf("%d requests were made", n)
	}
}

func manyPatterns(n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(`{"pattern":"(a%d){500}"}`, i+10)
	}
	return strings.Join(parts, ",")
}

// $recursiveRef belongs to neither dialect, but the library follows it.
func TestRecursiveRefIsUnknown(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"$recursiveRef":"#/$defs/a0","$defs":{`)
	for i := range 60 { // 2^60 applications do not end
		fmt.Fprintf(&b, `"a%d":{"allOf":[{"$recursiveRef":"#/$defs/a%d"},{"$recursiveRef":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	b.WriteString(`"a60":false}}`)
	v, err := jsonschema.Compile(jsontext.Value(b.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Validate(jsontext.Value(`1`)); err != nil {
		t.Errorf("got %v, want the keyword ignored", err)
	}
}

func TestRecursionThroughPartsIsAllowed(t *testing.T) {
	t.Parallel()
	v, err := jsonschema.Compile(jsontext.Value(`{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#"}}},"additionalProperties":false}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	deep := strings.Repeat(`{"kids":[`, 100) + strings.Repeat(`]}`, 100)
	if err := v.Validate(jsontext.Value(deep)); err != nil {
		t.Error(err)
	}
	if err := v.Validate(jsontext.Value(`{"kids":[{"kids":[{"x":1}]}]}`)); err == nil {
		t.Error("a fault inside the recursion is not found")
	}
}

func TestCostlyValuesAreRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-354b")
	elements := func(n int, element func(i int) string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = element(i)
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	ones := func(int) string { return "1" }
	twice := `{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`
	chained := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	split := func(i int) string { // distinct arrays whose hashes in the library are equal
		x, y := i/100, i%100
		return fmt.Sprintf(`["%s","%s","%s"]`, strings.Repeat("\\u0004", x), strings.Repeat("\\u0004", y), strings.Repeat("\\u0004", 200-x-y))
	}
	var chain strings.Builder // the longest way to one value, at every level
	for i := range 62 {
		fmt.Fprintf(&chain, `"a%d":{"$ref":"#/$defs/a%d"},`, i, i+1)
	}
	tests := []struct {
		name, schema, instance string
		want                   error
	}{
		{"deep in chain and value", `{"$ref":"#/$defs/a0","$defs":{` + chain.String() + `"a62":{"properties":{"a":{"$ref":"#/$defs/a0"}}}}}`, chained(255), nil},
		{"recursion that doubles", twice, chained(60), jsonschema.ErrTooCostly},
		{"recursion that doubles, little of it", twice, chained(10), nil},
		{"recursion over alternatives", `{"anyOf":[{"properties":{"a":{"$ref":"#"}},"required":["b"]},{"properties":{"a":{"$ref":"#"}},"required":["b"]},true]}`, chained(60), jsonschema.ErrTooCostly},
		{"100k enum", `{"enum":` + elements(100_000, ones) + `}`, `1`, nil},
		{"100k enum, many values", `{"items":{"enum":` + elements(100_000, ones) + `}}`, elements(10_000, ones), jsonschema.ErrTooCostly},
		{"100k numbers unique", `{"uniqueItems":true}`, elements(100_000, func(i int) string { return fmt.Sprint(i) }), nil},
		{"100k texts unique", `{"uniqueItems":true}`, elements(100_000, func(i int) string { return fmt.Sprintf(`"%d"`, i) }), nil},
		{"200k arrays unique", `{"uniqueItems":true}`, elements(200_000, func(i int) string { return fmt.Sprintf(`[%d]`, i) }), jsonschema.ErrTooCostly},
		{"colliding arrays unique", `{"uniqueItems":true}`, elements(8000, split), jsonschema.ErrTooCostly},
		{"1k objects unique", `{"uniqueItems":true}`, elements(1000, func(i int) string { return fmt.Sprintf(`{"id":%d,"name":"x"}`, i) }), nil},
		{"many required", `{"items":{"required":` + elements(20_000, func(i int) string { return fmt.Sprintf(`"%d"`, i) }) + `}}`, elements(10_000, func(int) string { return "{}" }), jsonschema.ErrTooCostly},
		{"nested quantifiers", `{"pattern":"^(a+)+$"}`, `"` + strings.Repeat("a", 50_000) + `"`, nil},
		{"large program, long text", `{"pattern":"([ab]{1,900}c?)+"}`, `"` + strings.Repeat("ab", 500_000) + `"`, jsonschema.ErrTooCostly},
		{"long text, many formats", `{"allOf":[` + strings.Repeat(`{"format":"email"},`, 1000) + `{"maxLength":9999999}]}`, `"` + strings.Repeat("a", 2_000_000) + `"`, jsonschema.ErrTooCostly},
		{"patterns in values", `{"items":{"format":"regex"}}`, elements(20_000, func(int) string { return `"(aaaaaaaa){900}"` }), nil},
		{"wide object, many patterns", `{"patternProperties":{` + widePatterns(500) + `}}`, wideObject(20_000), jsonschema.ErrTooCostly},
		{"100k numbers", `{"items":{"type":"integer","minimum":0,"maximum":2}}`, elements(100_000, ones), nil},
	}
	for _, tt := range tests {
		v, err := jsonschema.Compile(jsontext.Value(tt.schema), nil)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if err := v.Validate(jsontext.Value(tt.instance)); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
}

func widePatterns(n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(`"^x%d":{}`, i)
	}
	return strings.Join(parts, ",")
}

func wideObject(n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(`"n%d":1`, i)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func TestLimitsAreOptions(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-354b")
	tests := []struct {
		limits jsonschema.Limits
		text   string
	}{
		{jsonschema.Limits{Bytes: 10}, `{"type":"string"}`},
		{jsonschema.Limits{Subschemas: 2}, `{"allOf":[{},{}]}`},
		{jsonschema.Limits{Depth: 2}, `{"not":{"not":{}}}`},
		{jsonschema.Limits{Paths: 2}, `{"allOf":[{},{}]}`},
	}
	for _, tt := range tests {
		if _, err := jsonschema.Compile(jsontext.Value(tt.text), &tt.limits); err == nil {
			t.Errorf("%+v: %s is accepted", tt.limits, tt.text)
		}
		if _, err := jsonschema.Compile(jsontext.Value(tt.text), nil); err != nil {
			t.Errorf("%s: %v", tt.text, err)
		}
	}
	v, err := jsonschema.Compile(jsontext.Value(`{"items":{"not":{"type":"string"}}}`), &jsonschema.Limits{Work: 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Validate(jsontext.Value(`[1,2]`)); err != nil {
		t.Error(err)
	}
	if err := v.Validate(jsontext.Value(`[1,2,3,4,5,6,7,8]`)); !errors.Is(err, jsonschema.ErrTooCostly) {
		t.Errorf("got %v, want ErrTooCostly", err)
	}
}

// The budget must never count less than the library does: then a cost would go
// unseen.
func TestBudgetCountsNoLessThanTheLibrary(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var compared, large int
	for range 800 {
		text := randomDocument(random)
		instance := randomValue(random, 5)
		counted, made, err := jsonschema.Steps(jsontext.Value(text), jsontext.Value(instance))
		if err != nil {
			continue
		}
		compared++
		if made > 50 {
			large++
		}
		if made > counted {
			t.Fatalf("%s on %s: %d steps counted, %d made", text, instance, counted, made)
		}
	}
	if compared < 500 || large < 50 {
		t.Errorf("%d schemas compared, %d of them with more than 50 steps: too few to tell", compared, large)
	}
}

// randomDocument returns a schema with references between its parts.
func randomDocument(r *rand.Rand) string {
	dialect := ""
	if r.IntN(4) == 0 {
		dialect = draft07 + ","
	}
	return fmt.Sprintf(`{%s"$defs":{"a":%s,"b":%s,"c":%s},"allOf":[{"$ref":"#/$defs/a"},%s]}`, dialect,
		randomSchema(r, 3), randomSchema(r, 3), randomSchema(r, 2), randomSchema(r, 3))
}

func randomSchema(r *rand.Rand, depth int) string {
	if depth == 0 || r.IntN(8) == 0 {
		return []string{`true`, `{"minimum":1}`, `{"type":["object","array","integer","string"]}`, `{"maxLength":9}`}[r.IntN(4)]
	}
	sub := func() string { return randomSchema(r, depth-1) }
	part := func() string {
		if r.IntN(2) == 0 {
			return `{"$ref":"#/$defs/` + []string{"a", "b", "c"}[r.IntN(3)] + `"}`
		}
		return sub()
	}
	forms := []func() string{
		func() string { return `"allOf":[` + sub() + `,` + sub() + `]` },
		func() string { return `"anyOf":[` + sub() + `,` + sub() + `]` },
		func() string { return `"oneOf":[` + sub() + `,` + sub() + `]` },
		func() string { return `"not":` + sub() },
		func() string { return `"if":` + sub() + `,"then":` + sub() + `,"else":` + sub() },
		func() string { return `"properties":{"a":` + part() + `,"b":` + part() + `}` },
		func() string { return `"patternProperties":{"^a":` + part() + `,"b$":` + part() + `}` },
		func() string { return `"additionalProperties":` + part() },
		func() string { return `"unevaluatedProperties":` + part() },
		func() string { return `"propertyNames":` + sub() },
		func() string { return `"items":` + part() },
		func() string { return `"prefixItems":[` + part() + `]` },
		func() string { return `"contains":` + part() },
		func() string { return `"unevaluatedItems":` + part() },
		func() string { return `"dependentSchemas":{"a":` + sub() + `}` },
		func() string { return `"dependencies":{"b":` + sub() + `}` },
	}
	var keywords []string
	for _, i := range r.Perm(len(forms))[:1+r.IntN(3)] {
		keywords = append(keywords, forms[i]())
	}
	return "{" + strings.Join(keywords, ",") + "}"
}

func randomValue(r *rand.Rand, depth int) string {
	if depth == 0 {
		return []string{`1`, `"x"`, `null`}[r.IntN(3)]
	}
	switch r.IntN(3) {
	case 0:
		return `[` + randomValue(r, depth-1) + `,` + randomValue(r, depth-1) + `]`
	case 1:
		return `{"a":` + randomValue(r, depth-1) + `,"b":` + randomValue(r, depth-1) + `,"ab":1}`
	}
	return `{"a":` + randomValue(r, depth-1) + `}`
}
