package mcpserver

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"slices"

	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// argumentCompletion makes the arguments of a typed tool what its schema says of missing
// ones: a null stands for a missing optional argument, as encoding a struct with
// a nil pointer makes it, and a missing argument with a default gets it.
type argumentCompletion struct {
	optional map[string]bool
	defaults []argumentDefault // in the order of the schema
}

type argumentDefault struct {
	name  string
	value jsontext.Value
}

// completionOf reads the completion from an inferred schema.
func completionOf(text jsontext.Value) (*argumentCompletion, error) {
	var object struct {
		Properties jsontext.Value `json:"properties"`
		Required   []string       `json:"required"`
	}
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	c := &argumentCompletion{optional: make(map[string]bool)}
	for key, schema := range rawjson.Members(object.Properties) {
		name := string(key)
		c.optional[name] = !slices.Contains(object.Required, name)
		if value := rawjson.Member(schema, "default"); value != nil {
			c.defaults = append(c.defaults, argumentDefault{name, value})
		}
	}
	return c, nil
}

// complete returns the arguments completed, or raw itself when there is nothing
// to do.
func (c *argumentCompletion) complete(raw jsontext.Value) jsontext.Value {
	if len(c.defaults) == 0 && !c.anyNull(raw) {
		return raw
	}
	out, there := []byte{'{'}, make(map[string]bool)
	add := func(name string, value jsontext.Value) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = rawjson.AppendString(out, name)
		out = append(append(out, ':'), value...)
	}
	for key, value := range rawjson.Members(raw) {
		name := string(key)
		if c.standsForMissing(name, value) {
			continue
		}
		there[name] = true
		add(name, value)
	}
	for _, d := range c.defaults {
		if !there[d.name] {
			add(d.name, d.value)
		}
	}
	return append(out, '}')
}

// anyNull reports whether the arguments hold a null for a missing one.
func (c *argumentCompletion) anyNull(raw jsontext.Value) bool {
	for key, value := range rawjson.Members(raw) {
		if c.standsForMissing(string(key), value) {
			return true
		}
	}
	return false
}

func (c *argumentCompletion) standsForMissing(name string, value jsontext.Value) bool {
	return value.Kind() == 'n' && c.optional[name]
}
