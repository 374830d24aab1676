package catalog

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
)

// fillIn adds what servers leave out although the protocol requires it: a resource or
// template without a name gets its URI as the name, and members of a schema that are null
// are left out.
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
	var members map[string]jsontext.Value
	if json.Unmarshal(schema, &members) != nil {
		return schema
	}
	all := len(members)
	for name, value := range members {
		if value.Kind() == 'n' && name != "default" && name != "const" {
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
