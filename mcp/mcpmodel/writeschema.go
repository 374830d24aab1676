package mcpmodel

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strings"
)

// wireSchema is a schema as it is written, with its keywords in order.
type wireSchema struct {
	Type                 any              `json:"type,omitzero"`
	Title                string           `json:"title,omitzero"`
	Description          string           `json:"description,omitzero"`
	Enum                 []jsontext.Value `json:"enum,omitzero"`
	Const                jsontext.Value   `json:"const,omitzero"`
	Default              jsontext.Value   `json:"default,omitzero"`
	Examples             jsontext.Value   `json:"examples,omitzero"`
	Format               string           `json:"format,omitzero"`
	Pattern              string           `json:"pattern,omitzero"`
	Bounds               wireMembers      `json:",embed"`
	Items                *wireSchema      `json:"items,omitzero"`
	PrefixItems          []*wireSchema    `json:"prefixItems,omitzero"`
	Properties           *wireProperties  `json:"properties,omitzero"`
	Required             []string         `json:"required,omitzero"`
	AdditionalProperties any              `json:"additionalProperties,omitzero"` // false, or a *wireSchema
	AnyOf                []*wireSchema    `json:"anyOf,omitzero"`
}

type wireMembers = jsontext.Value

// wireProperties keep the order of the original.
type wireProperties []wireProperty

type wireProperty struct {
	name   string
	schema *wireSchema
}

// MarshalJSONTo writes the properties in order.
func (ps *wireProperties) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, p := range *ps {
		if err := enc.WriteToken(jsontext.String(p.name)); err != nil {
			return err
		}
		if err := json.MarshalEncode(enc, p.schema); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

// write writes a schema that fits the rules. The root always has properties, which OpenAI
// requires.
func write(s *schema, r *rules) (jsontext.Value, error) {
	size := measure(s)
	if size.subschemas > maxSubschemas {
		return nil, errTooMany
	}
	if err := size.within(r); err != nil {
		return nil, err
	}
	w := wireOf(s, r)
	if w.Properties == nil {
		w.Properties = &wireProperties{}
	}
	text, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	if len(text) > maxLoweredText {
		return nil, fmt.Errorf("has %d bytes with its references inlined, want at most %d", len(text), maxLoweredText)
	}
	return text, nil
}

func wireOf(s *schema, r *rules) *wireSchema {
	w := &wireSchema{
		Title: s.title, Description: describe(s), Default: s.defaultValue, Examples: s.examples,
		Format: s.format, Pattern: s.pattern,
	}
	switch len(s.types) {
	case 0:
	case 1:
		w.Type = s.types[0]
	default:
		w.Type = s.types
	}
	if s.isConst && len(s.enum) == 1 {
		w.Const = s.enum[0]
	} else {
		w.Enum = s.enum
	}
	w.Bounds = wireBounds(s)
	if s.items != nil {
		w.Items = wireOf(s.items, r)
	}
	for _, sub := range s.prefix {
		w.PrefixItems = append(w.PrefixItems, wireOf(sub, r))
	}
	if s.props != nil {
		w.Properties = &wireProperties{}
	}
	for _, p := range s.props {
		*w.Properties = append(*w.Properties, wireProperty{p.name, wireOf(p.schema, r)})
		if p.required {
			w.Required = append(w.Required, p.name)
		}
	}
	switch {
	case s.closed():
		w.AdditionalProperties = false
	case s.additional != nil:
		w.AdditionalProperties = wireOf(s.additional, r)
	}
	for _, b := range s.anyOf {
		w.AnyOf = append(w.AnyOf, wireOf(b, r))
	}
	return w
}

func wireBounds(s *schema) jsontext.Value {
	if len(s.bounds) == 0 {
		return nil
	}
	text := []byte{'{'}
	for _, keyword := range boundKeywords {
		if v, ok := s.bounds[keyword]; ok {
			if len(text) > 1 {
				text = append(text, ',')
			}
			text = append(text, `"`+keyword+`":`...)
			text = append(text, v...)
		}
	}
	return append(text, '}')
}

// describe returns the description with the notes.
func describe(s *schema) string {
	if len(s.notes) == 0 {
		return s.description
	}
	return strings.TrimSpace(s.description + " (" + strings.Join(s.notes, "; ") + ")")
}
