package wire

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
)

// publishedSchemas is where the schemas that come with the specification lie,
// seen from the module's root, where they have been put beside it.
const publishedSchemas = "../shared/spec/schema"

// A failure here means that our schemas and the published ones do not give the
// same verdict on a message. Without the published ones nothing is compared.
func TestVerdictsEqualThoseOfThePublishedSchemas(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(moduleRoot(t), publishedSchemas)
	if _, err := os.Stat(directory); err != nil {
		t.Log("the published schemas are not here: nothing to compare with")
		return
	}
	for _, v := range mcp.Revisions() {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			theirs := readPublished(t, filepath.Join(directory, v.String()+".json"))
			ours := NewSchema(dialect.Of(v), nil, false)
			c := &comparison{T: t, ours: ours, theirs: theirs, random: rand.New(rand.NewPCG(1, 2))}
			c.compareAll()
			for _, least := range []int{c.valid, c.invalid} {
				if least < 1000 {
					t.Errorf("compared %d valid and %d invalid messages, want 1000 of each", c.valid, c.invalid)
				}
			}
		})
	}
}

// comparison holds messages against both schemas of one revision.
type comparison struct {
	*testing.T
	ours           *Schema
	theirs         *published
	random         *rand.Rand
	valid, invalid int
	faults         int
}

func (c *comparison) compareAll() {
	for _, key := range slices.Sorted(maps.Keys(c.ours.parts)) {
		c.compareShape(key)
	}
	for _, p := range transcribed(c.T, c.ours.facts.Revision) {
		if _, ok := c.ours.parts[p.key]; ok {
			c.compareWithMutants(p.key, clone(p.value))
		}
	}
}

// compareShape compares over samples that either schema would have.
func (c *comparison) compareShape(key string) {
	theirs := c.theirs.schema(key)
	if theirs == nil {
		return
	}
	own := sampler{c.random, c.ours.defs, definitions}
	other := sampler{c.random, c.theirs.defs, c.theirs.place}
	for range 25 {
		c.compareWithMutants(key, own.sample(c.ours.parts[key].schema, 0))
		c.compareWithMutants(key, other.sample(theirs, 0))
	}
	if c.theirs.mayMiss(key) != c.ours.parts[key].optional {
		c.Errorf("%s: missing: ours %v, theirs %v", key, c.ours.parts[key].optional, c.theirs.mayMiss(key))
	}
}

func (c *comparison) compareWithMutants(key string, value any) {
	c.compare(key, value)
	for range 5 {
		mutant := clone(value)
		c.compare(key, mutate(c.random, mutant))
	}
}

func (c *comparison) compare(key string, value any) {
	raw, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		c.Fatal(err)
	}
	ours, theirs := c.ours.check(key, raw), c.theirs.check(c.T, key, raw)
	if theirs == nil {
		c.valid++
	} else {
		c.invalid++
	}
	if (ours == nil) != (theirs == nil) {
		if c.faults++; c.faults <= 12 {
			c.Errorf("%s\n%s\nours:   %v\ntheirs: %v", key, raw, ours, theirs)
		}
	}
}

// published is a schema as the specification has it.
type published struct {
	defs     map[string]node
	place    string // of the definitions
	document node
	compiled map[string]*jsonschema.Validator
}

func readPublished(t *testing.T, name string) *published {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	// The published schemas are made from TypeScript, where a number in a union
	// became an integer; and templates are not a matter of the schema library,
	// which does not know them well.
	corrected := strings.NewReplacer(
		`"type":["string","integer","boolean"]`, `"type":["string","number","boolean"]`,
		`"format":"uri-template"`, `"format":"template"`,
	).Replace(string(compact(t, raw)))
	p := &published{place: "#/definitions/", compiled: make(map[string]*jsonschema.Validator)}
	if err := json.Unmarshal([]byte(corrected), &p.document); err != nil {
		t.Fatal(err)
	}
	defs, ok := p.document["definitions"].(node)
	if !ok {
		p.place = definitions
		defs = p.document["$defs"].(node)
	}
	p.defs = make(map[string]node)
	for name, def := range defs {
		p.defs[name] = def.(node)
	}
	if value, ok := p.defs["JSONValue"]; ok { // in which null was lost
		value["anyOf"] = append(value["anyOf"].([]any), node{"type": "null"})
	}
	return p
}

func compact(t *testing.T, raw jsontext.Value) []byte {
	t.Helper()
	if err := raw.Compact(); err != nil {
		t.Fatal(err)
	}
	return raw
}

// schema returns the one for a part of a message, or nil where there is none.
func (p *published) schema(key string) node {
	if method, ok := strings.CutPrefix(key, "params of "); ok {
		return p.params(method)
	}
	if method, ok := strings.CutPrefix(key, "result of "); ok {
		return p.result(method)
	}
	for _, def := range p.defs {
		properties, _ := def["properties"].(node)
		if of, _ := properties["error"].(node); key == fmt.Sprint("error ", errorCode(of)) {
			return of
		}
	}
	return nil
}

// errorCode returns the code that the schema of an error demands, or nil.
func errorCode(schema node) any {
	for _, part := range slice(schema["allOf"]) {
		properties, _ := part.(node)["properties"].(node)
		if code, ok := properties["code"].(node); ok {
			return code["const"]
		}
	}
	return nil
}

// params returns the schema of the params of a method. They have to satisfy that
// of every message of the kind too.
func (p *published) params(method string) node {
	kind := "JSONRPCRequest"
	if strings.HasPrefix(method, "notifications/") {
		kind = "JSONRPCNotification"
	}
	var parts []any
	for _, message := range []node{p.message(method), p.defs[kind]} {
		if params, ok := message["properties"].(node)["params"]; ok {
			parts = append(parts, params)
		}
	}
	return node{"allOf": parts}
}

// message returns the definition of a request or notification.
func (p *published) message(method string) node {
	for _, def := range p.defs {
		properties, _ := def["properties"].(node)
		of, _ := properties["method"].(node)
		if of["const"] == method {
			return def
		}
	}
	panic("no definition for " + method)
}

func (p *published) mayMiss(key string) bool {
	method, ok := strings.CutPrefix(key, "params of ")
	if !ok {
		return false
	}
	required, _ := p.message(method)["required"].([]any)
	return !slices.Contains(required, any("params"))
}

func (p *published) result(method string) node {
	request := p.nameOf(p.message(method))
	name := strings.TrimSuffix(request, "Request") + "Result"
	if response := p.defs[name+"Response"]; response != nil {
		return response["properties"].(node)["result"].(node)
	}
	if p.defs[name] == nil {
		name = "EmptyResult"
	}
	alternatives := []any{node{"$ref": p.place + name}}
	if p.defs["CreateTaskResult"] != nil && slices.Contains([]string{mcp.MethodToolsCall, mcp.MethodElicit, mcp.MethodCreateMessage}, method) {
		alternatives = append(alternatives, node{"$ref": p.place + "CreateTaskResult"})
	}
	return node{"anyOf": alternatives}
}

func (p *published) nameOf(def node) string {
	for name, d := range p.defs {
		if fmt.Sprintf("%p", d) == fmt.Sprintf("%p", def) {
			return name
		}
	}
	return ""
}

func (p *published) check(t *testing.T, key string, value jsontext.Value) error {
	t.Helper()
	v := p.compiled[key]
	if v == nil {
		doc := maps.Clone(p.document)
		doc["allOf"] = []any{p.schema(key)}
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		if v, err = jsonschema.Compile(text, &jsonschema.Limits{Subschemas: 10_000}); err != nil {
			t.Fatal(err)
		}
		p.compiled[key] = v
	}
	return v.Validate(value)
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	directory, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(directory, "go.mod")); err == nil {
			return directory
		}
		directory = filepath.Dir(directory)
	}
}
