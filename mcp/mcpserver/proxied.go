package mcpserver

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"slices"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// Proxied is the option of a feature that another server offers and that this server passes on. Its
// definition, the arguments of its calls and their results are sent as they came: the client and the
// other server judge them. A handler of the feature must therefore return what the other server has
// returned.
//
// Only what can cost a client more than this feature is not sent as it came:
//
//   - The input schema of a tool gets "type": "object" at its root if it has no type or a list of types
//     with object, because some clients refuse a whole list otherwise. A tool whose arguments are of
//     another type is not registered, nor one whose x-mcp-header marks are not valid. Of properties and required what
//     no schema can have there is left out, because some clients check them.
//   - An output schema that is not an object is left out, and so are icons that Icon.Check refuses.
//   - A resource template that is no URI template is listed, and serves no URI.
//   - Keys of metadata that are off the grammar or reserved are left out of results.
func Proxied() Option { return proxied{} }

type proxied struct{}

func (proxied) tool(t *tool)         { t.proxied, t.unchecked = true, true }
func (proxied) resource(r *resource) { r.proxied, r.unchecked = true, new(uncheckedVariables) }
func (proxied) prompt(p *prompt)     { p.proxied = true }

// checkSchemas sets the schemas that clients get of a proxied tool, or returns why there are none.
func (t *tool) checkSchemas() (err error) {
	if !t.def.InputSchema.IsValid() {
		return errors.New("input schema: want JSON")
	}
	if t.def.InputSchema, err = withObjectType(t.def.InputSchema); err != nil {
		return fmt.Errorf("input schema: %w", err)
	}
	if t.def.OutputSchema.Kind() != '{' || !t.def.OutputSchema.IsValid() {
		t.def.OutputSchema = nil
	}
	t.def.InputSchema, t.def.OutputSchema = withUsableKeywords(t.def.InputSchema), withUsableKeywords(t.def.OutputSchema)
	return nil
}

// withUsableKeywords returns a schema whose properties are an object of schemas, and whose required is an array of
// names. What is neither is left out alone.
func withUsableKeywords(schema jsontext.Value) jsontext.Value {
	properties, usable := usableProperties(rawjson.Member(schema, "properties"))
	required, alsoUsable := usableRequired(rawjson.Member(schema, "required"))
	if usable && alsoUsable {
		return schema
	}
	out := jsontext.Value("{")
	for name, value := range rawjson.Members(schema) {
		switch string(name) {
		case "properties":
			value = properties
		case "required":
			value = required
		}
		if value != nil {
			out = append(appendName(out, string(name)), value...)
		}
	}
	return append(out, '}')
}

// usableProperties returns the members of an object that are schemas, and whether all are.
func usableProperties(properties jsontext.Value) (out jsontext.Value, all bool) {
	if properties.Kind() != '{' {
		return nil, properties == nil
	}
	out, all = jsontext.Value("{"), true
	for name, value := range rawjson.Members(properties) {
		switch value.Kind() {
		case '{', 't', 'f':
			out = append(appendName(out, string(name)), value...)
		default:
			all = false
		}
	}
	return append(out, '}'), all
}

// usableRequired returns the elements of an array that are strings, and whether all are.
func usableRequired(required jsontext.Value) (out jsontext.Value, all bool) {
	if required.Kind() != '[' {
		return nil, required == nil
	}
	out, all = jsontext.Value("["), true
	for name := range rawjson.Elements(required) {
		if name.Kind() != '"' {
			all = false
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, name...)
	}
	return append(out, ']'), all
}

// appendName appends the name of the next member to an object whose text so far is dst.
func appendName(dst jsontext.Value, name string) jsontext.Value {
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	return append(rawjson.AppendString(dst, name), ':')
}

// withObjectType returns a schema of arguments with the type object at its root.
func withObjectType(schema jsontext.Value) (jsontext.Value, error) {
	const object = `"object"`
	if kind := schema.Kind(); kind != '{' && kind != 't' {
		return nil, fmt.Errorf("found %s, want an object", cleanText(string(schema), 64))
	}
	declared := rawjson.Member(schema, "type")
	switch {
	case string(declared) == object:
		return schema, nil
	case declared != nil && !allowsObject(declared):
		return nil, fmt.Errorf("type %s, want object, because arguments are one", cleanText(string(declared), 64))
	}
	out := jsontext.Value(`{"type":` + object)
	for name, value := range rawjson.Members(schema) {
		if string(name) == "type" {
			continue
		}
		out = append(appendName(out, string(name)), value...)
	}
	return append(out, '}'), nil
}

// allowsObject reports whether the type of a schema is null or a list with object.
func allowsObject(declared jsontext.Value) bool {
	if declared.Kind() != '[' {
		return declared.Kind() == 'n'
	}
	for one := range rawjson.Elements(declared) {
		if string(one) == `"object"` {
			return true
		}
	}
	return false
}

// validIcons returns the icons that clients accept.
func validIcons(icons []mcp.Icon) []mcp.Icon {
	return slices.DeleteFunc(slices.Clone(icons), func(icon mcp.Icon) bool { return icon.Check() != nil })
}
