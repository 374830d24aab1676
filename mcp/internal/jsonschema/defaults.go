package jsonschema

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
)

// ApplyDefaults returns the object instance with every top-level property that is
// missing, and that has a default in the schema, added after those that are
// there. An empty instance is an empty object.
func ApplyDefaults(instance, schema jsontext.Value) (jsontext.Value, error) {
	var have members
	if len(instance) > 0 {
		if err := json.Unmarshal(instance, &have); err != nil {
			return nil, fmt.Errorf("apply defaults: %w", err)
		}
	}
	var form struct {
		Properties members `json:"properties"`
	}
	if err := json.Unmarshal(schema, &form); err != nil {
		return nil, fmt.Errorf("apply defaults: schema: %w", err)
	}
	there := make(map[string]bool, len(have))
	for _, m := range have {
		there[m.name] = true
	}
	for _, p := range form.Properties {
		var prop struct {
			Default jsontext.Value `json:"default"`
		}
		if p.value.Kind() != '{' || there[p.name] {
			continue
		}
		if err := json.Unmarshal(p.value, &prop); err != nil {
			return nil, fmt.Errorf("apply defaults: schema: %w", err)
		}
		if prop.Default != nil {
			have = append(have, member{p.name, prop.Default})
		}
	}
	return json.Marshal(have)
}
