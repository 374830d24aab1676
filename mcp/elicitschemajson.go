package mcp

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"
)

// wireElicitSchema is the JSON form of an ElicitSchema.
type wireElicitSchema struct {
	Type       string      `json:"type"`
	Properties elicitProps `json:"properties"`
	Required   []string    `json:"required,omitempty"`
}

// MarshalJSONTo writes the schema of an object with the fields as properties,
// in their order.
func (s ElicitSchema) MarshalJSONTo(enc *jsontext.Encoder) error {
	wire := wireElicitSchema{Type: "object", Properties: s.Fields}
	for _, f := range s.Fields {
		if f.Required {
			wire.Required = append(wire.Required, f.Name)
		}
	}
	return json.MarshalEncode(enc, &wire)
}

// UnmarshalJSONFrom reads a schema that the protocol allows for forms.
func (s *ElicitSchema) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var wire wireElicitSchema
	if err := json.UnmarshalDecode(dec, &wire); err != nil {
		return err
	}
	if wire.Type != "object" {
		return fmt.Errorf("elicitation schema: got type %q, want \"object\"", wire.Type)
	}
	for i := range wire.Properties {
		f := &wire.Properties[i]
		f.Required = slices.Contains(wire.Required, f.Name)
	}
	s.Fields = wire.Properties
	return nil
}

// elicitProps are the properties of the schema of a form, in the order of the
// fields. A map would lose the order.
type elicitProps []ElicitField

func (p elicitProps) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, f := range p {
		if f.Schema == nil {
			return fmt.Errorf("elicitation schema: field %q has no schema", f.Name)
		}
		if err := enc.WriteToken(jsontext.String(f.Name)); err != nil {
			return err
		}
		if err := json.MarshalEncode(enc, f.Schema); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

func (p *elicitProps) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if kind := dec.PeekKind(); kind != jsontext.KindBeginObject {
		return fmt.Errorf("elicitation schema: properties: got %v, want an object", kind)
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != jsontext.KindEndObject {
		var name string
		if err := json.UnmarshalDecode(dec, &name); err != nil {
			return err
		}
		raw, err := dec.ReadValue()
		if err != nil {
			return err
		}
		schema, err := decodePrimitive(raw)
		if err != nil {
			return fmt.Errorf("elicitation schema: field %q: %w", name, err)
		}
		*p = append(*p, ElicitField{Name: name, Schema: schema})
	}
	_, err := dec.ReadToken()
	return err
}

func decodePrimitive(raw jsontext.Value) (PrimitiveSchema, error) {
	var head struct {
		Type  string         `json:"type"`
		Enum  jsontext.Value `json:"enum"`
		OneOf jsontext.Value `json:"oneOf"`
		Items jsontext.Value `json:"items"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, err
	}
	switch head.Type {
	case "string":
		if head.Enum != nil || head.OneOf != nil {
			return decodeEnum(raw)
		}
		return decodeSchema(raw, StringSchema{})
	case "number", "integer":
		return decodeSchema(raw, NumberSchema{Integer: head.Type == "integer"})
	case "boolean":
		return decodeSchema(raw, BooleanSchema{})
	case "array":
		if head.Items == nil {
			return nil, errors.New("got an array without items, want the options in items")
		}
		return decodeEnum(raw)
	}
	return nil, fmt.Errorf("got type %q, want string, number, integer, boolean or array", head.Type)
}

func decodeSchema[S PrimitiveSchema](raw jsontext.Value, schema S) (PrimitiveSchema, error) {
	err := json.Unmarshal(raw, &schema)
	return schema, err
}

// MarshalJSONTo writes the type before the other keywords.
func (s StringSchema) MarshalJSONTo(enc *jsontext.Encoder) error {
	type body StringSchema
	return encodeTagged(enc, "string", (*body)(&s))
}

// MarshalJSONTo writes the type before the other keywords.
func (s NumberSchema) MarshalJSONTo(enc *jsontext.Encoder) error {
	type body NumberSchema
	if s.Integer {
		return encodeTagged(enc, "integer", (*body)(&s))
	}
	return encodeTagged(enc, "number", (*body)(&s))
}

// MarshalJSONTo writes the type before the other keywords.
func (s BooleanSchema) MarshalJSONTo(enc *jsontext.Encoder) error {
	type body BooleanSchema
	return encodeTagged(enc, "boolean", (*body)(&s))
}

// wireEnum is the JSON form of an EnumSchema: enum or oneOf for a single
// choice, items for a multiple choice.
type wireEnum struct {
	Title       string       `json:"title,omitzero"`
	Description string       `json:"description,omitzero"`
	Enum        []string     `json:"enum,omitzero"`
	OneOf       []EnumOption `json:"oneOf,omitzero"`
	// EnumNames are the titles in 2025-06-18.
	EnumNames []string       `json:"enumNames,omitzero"`
	Items     *wireEnumItems `json:"items,omitzero"`
	MinItems  *int64         `json:"minItems,omitzero"`
	MaxItems  *int64         `json:"maxItems,omitzero"`
	Default   jsontext.Value `json:"default,omitzero"`
}

type wireEnumItems struct {
	Type  string       `json:"type,omitzero"`
	Enum  []string     `json:"enum,omitzero"`
	AnyOf []EnumOption `json:"anyOf,omitzero"`
}

// MarshalJSONTo writes one of the four forms that the protocol has: single or
// multiple choice, with or without titles.
func (s EnumSchema) MarshalJSONTo(enc *jsontext.Encoder) error {
	if s.Multiple {
		return s.encodeMultiple(enc)
	}
	return s.encodeSingle(enc)
}

func (s EnumSchema) encodeMultiple(enc *jsontext.Encoder) error {
	wire := wireEnum{Title: s.Title, Description: s.Description, MinItems: s.MinItems, MaxItems: s.MaxItems}
	if titled := s.titled(); titled != nil {
		wire.Items = &wireEnumItems{AnyOf: titled}
	} else {
		wire.Items = &wireEnumItems{Type: "string", Enum: s.values()}
	}
	if s.Default != nil {
		var err error
		if wire.Default, err = json.Marshal(s.Default); err != nil {
			return err
		}
	}
	return encodeTagged(enc, "array", &wire)
}

func (s EnumSchema) encodeSingle(enc *jsontext.Encoder) error {
	if len(s.Default) > 1 {
		return errors.New("elicitation schema: a choice of one has several defaults")
	}
	wire := wireEnum{Title: s.Title, Description: s.Description}
	if titled := s.titled(); titled != nil {
		wire.OneOf = titled
	} else {
		wire.Enum = s.values()
	}
	if len(s.Default) == 1 {
		var err error
		if wire.Default, err = json.Marshal(s.Default[0]); err != nil {
			return err
		}
	}
	return encodeTagged(enc, "string", &wire)
}

// values returns the values of the options.
func (s EnumSchema) values() []string {
	values := make([]string, len(s.Options))
	for i, o := range s.Options {
		values[i] = o.Value
	}
	return values
}

// titled returns the options, each with a title, or nil when none has one.
func (s EnumSchema) titled() []EnumOption {
	if !slices.ContainsFunc(s.Options, func(o EnumOption) bool { return o.Title != "" }) {
		return nil
	}
	options := slices.Clone(s.Options)
	for i := range options {
		options[i].Title = cmp.Or(options[i].Title, options[i].Value)
	}
	return options
}

func decodeEnum(raw jsontext.Value) (PrimitiveSchema, error) {
	var wire wireEnum
	if err := json.Unmarshal(raw, &wire); err != nil {
		return nil, err
	}
	s := EnumSchema{
		Title: wire.Title, Description: wire.Description, Options: wire.options(),
		Multiple: wire.Items != nil, MinItems: wire.MinItems, MaxItems: wire.MaxItems,
	}
	err := s.decodeDefault(wire.Default)
	return s, err
}

func (s *EnumSchema) decodeDefault(raw jsontext.Value) error {
	switch {
	case raw == nil:
		return nil
	case s.Multiple:
		return json.Unmarshal(raw, &s.Default)
	}
	s.Default = make([]string, 1)
	return json.Unmarshal(raw, &s.Default[0])
}

// options returns the options of whichever form the schema has.
func (w *wireEnum) options() []EnumOption {
	values, titled := w.Enum, w.OneOf
	if w.Items != nil {
		values, titled = w.Items.Enum, w.Items.AnyOf
	}
	if titled != nil {
		return titled
	}
	options := make([]EnumOption, len(values))
	for i, v := range values {
		options[i].Value = v
		if i < len(w.EnumNames) {
			options[i].Title = w.EnumNames[i]
		}
	}
	return options
}
