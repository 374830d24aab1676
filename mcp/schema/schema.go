package schema

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strings"
)

// Schema is a JSON Schema under construction. Object, String, Integer and the
// other functions of this package make one; its methods add keywords and return
// the same Schema, so that calls can be chained. The zero Schema allows every
// value.
//
// The method JSON returns an error if a keyword, of the schema or of a schema that is part
// of it, does not apply to its type or contradicts another keyword. A Schema must not be
// changed after it became part of another one. It is not safe for concurrent use.
type Schema struct {
	keys      keywords
	never     bool           // the boolean schema false
	low, high jsontext.Value // the range of the Go type, if it is smaller than that of int64
	err       error
}

// keywords lists what this package writes, in the order in which it is written.
type keywords struct {
	Ref                  string           `json:"$ref,omitzero"`
	Type                 any              `json:"type,omitzero"` // a string, or a []string
	Title                string           `json:"title,omitzero"`
	Description          string           `json:"description,omitzero"`
	Format               string           `json:"format,omitzero"`
	ContentEncoding      string           `json:"contentEncoding,omitzero"`
	Pattern              string           `json:"pattern,omitzero"`
	MinLength            jsontext.Value   `json:"minLength,omitzero"`
	MaxLength            jsontext.Value   `json:"maxLength,omitzero"`
	Minimum              jsontext.Value   `json:"minimum,omitzero"`
	ExclusiveMinimum     jsontext.Value   `json:"exclusiveMinimum,omitzero"`
	Maximum              jsontext.Value   `json:"maximum,omitzero"`
	ExclusiveMaximum     jsontext.Value   `json:"exclusiveMaximum,omitzero"`
	MultipleOf           jsontext.Value   `json:"multipleOf,omitzero"`
	Enum                 []jsontext.Value `json:"enum,omitzero"`
	Const                jsontext.Value   `json:"const,omitzero"`
	AnyOf                []*Schema        `json:"anyOf,omitzero"`
	OneOf                []*Schema        `json:"oneOf,omitzero"`
	Items                *Schema          `json:"items,omitzero"`
	MinItems             jsontext.Value   `json:"minItems,omitzero"`
	MaxItems             jsontext.Value   `json:"maxItems,omitzero"`
	UniqueItems          bool             `json:"uniqueItems,omitzero"`
	Properties           properties       `json:"properties,omitzero"`
	Required             []string         `json:"required,omitzero"`
	AdditionalProperties *Schema          `json:"additionalProperties,omitzero"`
	Default              jsontext.Value   `json:"default,omitzero"`
	Examples             []jsontext.Value `json:"examples,omitzero"`
	Header               string           `json:"x-mcp-header,omitzero"`
	Defs                 properties       `json:"$defs,omitzero"`
	Own                  jsontext.Value   `json:",embed"` // the schema of a Describer
}

// Property is a named property of an object schema. Required and Optional make
// one.
type Property struct {
	name     string
	schema   *Schema
	required bool
}

// properties is a JSON object whose members keep their order.
type properties []Property

// MarshalJSONTo writes the properties in order.
func (ps properties) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, p := range ps {
		if err := enc.WriteToken(jsontext.String(p.name)); err != nil {
			return err
		}
		if err := json.MarshalEncode(enc, p.schema); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

// MarshalJSONTo writes the schema as JSON with its keywords in a fixed order.
func (s *Schema) MarshalJSONTo(enc *jsontext.Encoder) error {
	if s.never {
		return enc.WriteToken(jsontext.False)
	}
	return json.MarshalEncode(enc, &s.keys)
}

// JSON returns the schema as JSON text, which belongs to the caller. Equal
// schemas have equal text. The error names the first keyword or property that is
// invalid and says what would be right.
func (s *Schema) JSON() (jsontext.Value, error) {
	if err := s.fault(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write schema: %w", err)
	}
	return text, nil
}

// Any returns the schema that allows every value.
func Any() *Schema { return &Schema{} }

// String returns the schema of strings.
func String() *Schema { return typed("string") }

// Integer returns the schema of whole numbers, without a limit of their size.
func Integer() *Schema { return typed("integer") }

// Number returns the schema of numbers.
func Number() *Schema { return typed("number") }

// Boolean returns the schema of booleans.
func Boolean() *Schema { return typed("boolean") }

// Array returns the schema of arrays whose elements satisfy items.
func Array(items *Schema) *Schema {
	s := typed("array")
	s.keys.Items = items
	s.fail(items.fault())
	return s
}

// Map returns the schema of objects with any property names, whose values
// satisfy values.
func Map(values *Schema) *Schema {
	s := typed("object")
	if !values.unconstrained() {
		s.keys.AdditionalProperties = values
	}
	s.fail(values.fault())
	return s
}

// Object returns the schema of objects with the given properties and no others,
// so that a misspelt name of an optional property is an error. Open allows
// others. Two properties must not have the same name.
func Object(props ...Property) *Schema {
	s := typed("object")
	s.keys.AdditionalProperties = &Schema{never: true}
	seen := make(map[string]bool, len(props))
	for _, p := range props {
		if seen[p.name] {
			s.fail(fmt.Errorf("property %q is given twice", p.name))
		}
		seen[p.name] = true
		if err := p.schema.fault(); err != nil {
			s.fail(fmt.Errorf("property %q: %w", p.name, err))
		}
		s.add(p)
	}
	return s
}

// Required returns a property that must be present.
func Required(name string, s *Schema) Property { return Property{name, s, true} }

// Optional returns a property that may be missing. If it is present, it must satisfy s; it
// may be null only if s allows null.
func Optional(name string, s *Schema) Property { return Property{name, s, false} }

func typed(name string) *Schema { return &Schema{keys: keywords{Type: name}} }

// add appends one property, without looking for an earlier one of its name.
func (s *Schema) add(p Property) {
	s.keys.Properties = append(s.keys.Properties, p)
	if p.required {
		s.keys.Required = append(s.keys.Required, p.name)
	}
}

// kind returns the one JSON type that s allows, or "".
func (s *Schema) kind() string {
	name, _ := s.keys.Type.(string)
	if s.keys.Own != nil {
		var own struct {
			Type jsontext.Value `json:"type"`
		}
		if json.Unmarshal(s.keys.Own, &own) == nil && own.Type.Kind() == '"' {
			name = strings.Trim(string(own.Type), `"`)
		}
	}
	return name
}

// unconstrained reports whether s allows every value.
func (s *Schema) unconstrained() bool {
	if s == nil {
		return false
	}
	text, err := json.Marshal(s)
	return err == nil && string(text) == "{}"
}

// fail records the first error.
func (s *Schema) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// fault returns the first error that fail has recorded, or otherwise the error for the first
// keyword that contradicts another.
func (s *Schema) fault() error {
	if s == nil {
		return errors.New("nil schema: want Any for a value of any type")
	}
	if s.err != nil {
		return s.err
	}
	return s.check()
}
