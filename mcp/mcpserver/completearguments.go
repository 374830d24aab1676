package mcpserver

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"slices"
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
	return c, eachMember(object.Properties, func(name string, value jsontext.Value) error {
		var property struct {
			Default jsontext.Value `json:"default"`
		}
		if err := json.Unmarshal(value, &property); err != nil {
			return err
		}
		c.optional[name] = !slices.Contains(object.Required, name)
		if property.Default != nil {
			c.defaults = append(c.defaults, argumentDefault{name, property.Default})
		}
		return nil
	})
}

// complete returns the arguments completed, or raw itself when there is nothing
// to do.
func (c *argumentCompletion) complete(raw jsontext.Value) jsontext.Value {
	if len(c.defaults) == 0 && !bytes.Contains(raw, []byte("null")) {
		return raw
	}
	out, there := []byte{'{'}, make(map[string]bool)
	add := func(name string, value jsontext.Value) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, name)
		out = append(append(out, ':'), value...)
	}
	err := eachMember(raw, func(name string, value jsontext.Value) error {
		if value.Kind() == 'n' && c.optional[name] {
			return nil
		}
		there[name] = true
		add(name, value)
		return nil
	})
	if err != nil {
		return raw
	}
	for _, d := range c.defaults {
		if !there[d.name] {
			add(d.name, d.value)
		}
	}
	return append(out, '}')
}

// eachMember calls f with each member of an object, in order. No object has none.
func eachMember(object jsontext.Value, f func(name string, value jsontext.Value) error) error {
	if len(object) == 0 {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if err := f(key, value.Clone()); err != nil {
			return err
		}
	}
	return nil
}
