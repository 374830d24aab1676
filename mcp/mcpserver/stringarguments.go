package mcpserver

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"reflect"
	"slices"

	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
	"github.com/fondaco/fondaco/mcp/schema"
)

// binder decodes arguments that are sent as strings into a struct: the variables of a URI
// template, the arguments of a prompt.
type binder struct {
	fields    []boundField // in the order of the struct
	validator *jsonschema.Validator
}

// boundField is one field of the struct, as the schema of the struct has it.
type boundField struct {
	Name        string
	Title       string `json:"title"`
	Description string `json:"description"`
	Type        string `json:"type"`
	Required    bool   `json:"-"`

	Enum []jsontext.Value `json:"enum"`
}

// newBinder returns the binder of a struct type.
func newBinder(t reflect.Type, opts []schema.Option) (*binder, error) {
	text, err := schema.ForType(t, schema.Input, opts...)
	if err != nil {
		return nil, err
	}
	var object struct {
		Type       string         `json:"type"`
		Properties jsontext.Value `json:"properties"`
		Required   []string       `json:"required"`
	}
	if err := json.Unmarshal(text, &object); err != nil || object.Type != "object" {
		return nil, fmt.Errorf("arguments %v: want a struct, whose fields are the arguments", t)
	}
	b := &binder{validator: jsonschema.Lazy(text, nil)}
	if err := b.read(object.Properties, object.Required); err != nil {
		return nil, err
	}
	return b, nil
}

// read sets the fields from the properties of a schema, in their order.
func (b *binder) read(properties jsontext.Value, required []string) error {
	for key, value := range rawjson.Members(properties) {
		name := string(key)
		f := boundField{Name: name}
		if err := json.Unmarshal(value, &f); err != nil || !scalar(f.Type) {
			return fmt.Errorf("field %q: want a string, a number or a boolean, because it is sent as a string", name)
		}
		f.Required = slices.Contains(required, name)
		b.fields = append(b.fields, f)
	}
	return nil
}

func scalar(schemaType string) bool {
	return slices.Contains([]string{"string", "integer", "number", "boolean"}, schemaType)
}

// completers returns a Completer for each field with an enum.
func (b *binder) completers() map[string]Completer {
	var all map[string]Completer
	for _, f := range b.fields {
		if len(f.Enum) == 0 {
			continue
		}
		values := make([]string, len(f.Enum))
		for i, v := range f.Enum {
			if values[i] = string(v); v.Kind() == '"' {
				values[i] = string(rawjson.Unquote(v))
			}
		}
		if all == nil {
			all = make(map[string]Completer)
		}
		all[f.Name] = Prefix(values...)
	}
	return all
}

// covers returns an error if a name has no field, or a required field no name.
func (b *binder) covers(names []string) error {
	for _, n := range names {
		if !slices.ContainsFunc(b.fields, func(f boundField) bool { return f.Name == n }) {
			return fmt.Errorf("variable %q: no field has this json name", n)
		}
	}
	for _, f := range b.fields {
		if f.Required && !slices.Contains(names, f.Name) {
			return fmt.Errorf("field %q: no variable has this name; want one, or omitzero", f.Name)
		}
	}
	return nil
}

// bind sets the fields of out, a pointer to the struct, from strings. A value without a
// field is an error, as are values that do not satisfy the schema.
func (b *binder) bind(values map[string]string, out any) error {
	object := []byte{'{'}
	for _, f := range b.fields {
		value, ok := values[f.Name]
		if !ok {
			continue
		}
		if len(object) > 1 {
			object = append(object, ',')
		}
		object, _ = jsontext.AppendQuote(object, f.Name)
		object = append(object, ':')
		if f.Type == "string" || !jsontext.Value(value).IsValid() {
			object, _ = jsontext.AppendQuote(object, value)
		} else {
			object = append(object, value...)
		}
	}
	object = append(object, '}')
	for name := range values {
		if !slices.ContainsFunc(b.fields, func(f boundField) bool { return f.Name == name }) {
			return fmt.Errorf("%q: unknown argument", cleanText(name, 64))
		}
	}
	if err := validate(b.validator, "arguments", object); err != nil {
		return err
	}
	return decodeValid("arguments", object, out)
}
