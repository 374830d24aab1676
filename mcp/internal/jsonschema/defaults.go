package jsonschema

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"

	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// ApplyDefaults returns the object instance with each top-level property that is missing
// and has a default in the schema added at the end, without white space, or the instance
// itself if it is that already. An empty instance is an empty object. It is for the schema
// of a form: it follows no references.
func (v *Validator) ApplyDefaults(instance jsontext.Value) (jsontext.Value, error) {
	if len(instance) == 0 {
		instance = jsontext.Value("{}")
	}
	defaults, err := v.defaults()
	if err != nil {
		return nil, err
	}
	if instance.Kind() == '{' && rawjson.Accepts(instance, ordinary) && hasAll(instance, defaults) {
		if !bytes.ContainsAny(instance, " \t\r\n") {
			return instance, nil
		}
		compact := instance.Clone()
		err := compact.Compact()
		return compact, err
	}
	var have members
	if err := json.Unmarshal(instance, &have); err != nil {
		return nil, fmt.Errorf("apply defaults: %w", err)
	}
	given := make(map[string]bool, len(have))
	for _, m := range have {
		given[m.name] = true
	}
	for _, d := range defaults {
		if !given[d.name] {
			have = append(have, d)
		}
	}
	return json.Marshal(have)
}

// hasAll reports whether an object has a member of each name.
func hasAll(object jsontext.Value, names members) bool {
	for _, m := range names {
		if rawjson.Member(object, m.name) == nil {
			return false
		}
	}
	return true
}

// defaultsOf returns the properties of a schema that have a default, with it as the value.
func defaultsOf(schema jsontext.Value) (members, error) {
	var form struct {
		Properties members `json:"properties"`
	}
	if err := json.Unmarshal(schema, &form); err != nil {
		return nil, fmt.Errorf("apply defaults: schema: %w", err)
	}
	var defaults members
	for _, p := range form.Properties {
		var prop struct {
			Default jsontext.Value `json:"default"`
		}
		if p.value.Kind() != '{' {
			continue
		}
		if err := json.Unmarshal(p.value, &prop); err != nil {
			return nil, fmt.Errorf("apply defaults: schema: %w", err)
		}
		if prop.Default != nil {
			defaults = append(defaults, member{p.name, prop.Default})
		}
	}
	return defaults, nil
}
