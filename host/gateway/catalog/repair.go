package catalog

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"slices"
)

// fillIn adds what servers leave out although the protocol requires it: a resource or
// template without a name gets its URI as the name, and members of a schema that are null
// are left out, as is a schema that is null. An empty list where a schema has an object stands for an empty object:
// some encoders know no difference.
func (c *Catalog) fillIn() {
	for i := range c.resources {
		r := &c.resources[i]
		r.Name = cmp.Or(r.Name, r.Title, r.URI)
	}
	for i := range c.templates {
		t := &c.templates[i]
		t.Name = cmp.Or(t.Name, t.Title, t.URITemplate)
	}
	for i := range c.tools {
		t := &c.tools[i]
		t.InputSchema, t.OutputSchema = withoutNulls(t.InputSchema), withoutNulls(t.OutputSchema)
	}
}

// withoutNulls returns a schema without members that are null, as encoders write them for
// empty lists. No keyword of the root of a schema may be null.
func withoutNulls(schema jsontext.Value) jsontext.Value {
	switch {
	case schema.Kind() == 'n':
		return nil
	case isEmptyList(schema):
		return jsontext.Value("{}")
	}
	var members map[string]jsontext.Value
	if json.Unmarshal(schema, &members) != nil {
		return schema
	}
	all := len(members)
	for name, value := range members {
		if value.Kind() == 'n' && name != "default" && name != "const" || isEmptyList(value) && slices.Contains(objectKeywords, name) {
			delete(members, name)
		}
	}
	if len(members) == all {
		return schema
	}
	clean, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		return schema
	}
	return clean
}

// objectKeywords are the keywords whose value is an object of schemas by name. Without them a schema means the same
// as with an empty one.
var objectKeywords = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}

// isEmptyList reports whether a value is an array without elements.
func isEmptyList(value jsontext.Value) bool {
	var elements []jsontext.Value
	return value.Kind() == '[' && json.Unmarshal(value, &elements) == nil && len(elements) == 0
}
