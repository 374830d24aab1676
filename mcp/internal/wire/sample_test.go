package wire

import (
	"encoding/json/v2"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// sampler makes values that a schema allows.
type sampler struct {
	random *rand.Rand
	defs   map[string]node
	place  string // of the definitions
}

// enough is how deep samples have members that may be left out.
const enough = 6

func (s sampler) sample(schema node, depth int) any {
	if ref, ok := schema["$ref"].(string); ok {
		return s.sample(s.defs[strings.TrimPrefix(ref, s.place)], depth)
	}
	if v, ok := schema["const"]; ok {
		return v
	}
	for _, keyword := range []string{"enum", "anyOf"} {
		if choices := slice(schema[keyword]); len(choices) > 0 {
			choice := choices[s.random.IntN(len(choices))]
			if keyword == "anyOf" {
				return s.sample(choice.(node), depth)
			}
			return choice
		}
	}
	if parts := slice(schema["allOf"]); len(parts) > 0 {
		whole := make(node)
		for _, part := range parts {
			if members, ok := s.sample(part.(node), depth).(node); ok {
				maps.Copy(whole, members)
			}
		}
		return whole
	}
	return s.typed(schema, depth)
}

func (s sampler) typed(schema node, depth int) any {
	kind, _ := schema["type"].(string)
	if kinds := slice(schema["type"]); len(kinds) > 0 {
		kind = kinds[s.random.IntN(len(kinds))].(string)
	}
	switch kind {
	case "string":
		return s.text(schema)
	case "integer":
		return 1
	case "number":
		return 0.5
	case "boolean":
		return s.random.IntN(2) == 0
	case "null":
		return nil
	case "array":
		items, _ := schema["items"].(node)
		var out []any
		for range s.random.IntN(3) {
			out = append(out, s.sample(items, depth+1))
		}
		return append([]any{}, out...)
	}
	if kind == "object" || schema["properties"] != nil || schema["required"] != nil {
		return s.object(schema, depth)
	}
	return "any"
}

func (s sampler) text(schema node) string {
	switch schema["format"] {
	case "uri":
		return "https://example.org/x"
	case "uri-template":
		return "note://{name}"
	}
	return "words"
}

func (s sampler) object(schema node, depth int) any {
	out := make(node)
	properties, _ := schema["properties"].(node)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property := properties[name]
		required := slices.Contains(slice(schema["required"]), any(name))
		if required || depth < enough && s.random.IntN(3) > 0 {
			out[name] = s.sample(property.(node), depth+1)
		}
	}
	if values, ok := schema["additionalProperties"].(node); ok && depth < enough {
		out["extra"] = s.sample(values, depth+1)
	}
	return out
}

// slice returns a list of any elements, or nil.
func slice(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case []string:
		var out []any
		for _, s := range v {
			out = append(out, s)
		}
		return out
	}
	return nil
}

// mutate changes one part of a value that was decoded from JSON.
func mutate(random *rand.Rand, value any) any {
	switch v := value.(type) {
	case node:
		if len(v) == 0 || random.IntN(6) == 0 {
			break
		}
		name := slices.Sorted(maps.Keys(v))[random.IntN(len(v))]
		if random.IntN(3) == 0 {
			delete(v, name)
			return v
		}
		v[name] = mutate(random, v[name])
		return v
	case []any:
		if len(v) == 0 || random.IntN(4) == 0 {
			break
		}
		i := random.IntN(len(v))
		v[i] = mutate(random, v[i])
		return v
	}
	return others[random.IntN(len(others))]
}

// others are what a mutant has in the place of something else.
var others = []any{nil, true, 2, -1, 0.25, "other", "text", "object", []any{}, []any{"x"}, node{}, node{"type": "text"}, node{"name": "x"}}

// clone returns a copy as JSON has it.
func clone(value any) (out any) {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		panic(err)
	}
	return out
}
