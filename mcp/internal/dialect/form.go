package dialect

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"

	"github.com/fondaco/fondaco/mcp"
)

// choosesSeveral reports whether a form has a choice of several, for which older
// revisions have no words.
func choosesSeveral(form jsontext.Value) bool {
	for _, field := range formFields(form) {
		if choice, ok := field.Schema.(mcp.EnumSchema); ok && choice.Multiple {
			return true
		}
	}
	return false
}

func formFields(form jsontext.Value) []mcp.ElicitField {
	var s mcp.ElicitSchema
	if json.Unmarshal(orEmpty(form), &s) != nil {
		return nil
	}
	return s.Fields
}

// plainForm brings a form into the words of 2025-06-18: titles of choices go
// into enumNames, and only a yes or no has a default. A form that cannot be read
// stays as it is.
//
// Spec: 2025-06-18 client/elicitation#requested-schema
func plainForm(form jsontext.Value) jsontext.Value {
	fields := formFields(form)
	if fields == nil {
		return form
	}
	properties, required := []byte{'{'}, []string{}
	for i, field := range fields {
		schema, err := json.Marshal(plainField(field.Schema), json.Deterministic(true))
		if err != nil {
			return form
		}
		if i > 0 {
			properties = append(properties, ',')
		}
		properties, _ = jsontext.AppendQuote(properties, field.Name)
		properties = append(append(properties, ':'), schema...)
		if field.Required {
			required = append(required, field.Name)
		}
	}
	plain, err := json.Marshal(struct {
		Type       string         `json:"type"`
		Properties jsontext.Value `json:"properties"`
		Required   []string       `json:"required,omitempty"`
	}{"object", append(properties, '}'), required})
	if err != nil {
		return form
	}
	return plain
}

func plainField(s mcp.PrimitiveSchema) any {
	switch s := s.(type) {
	case mcp.StringSchema:
		s.Default = nil
		return s
	case mcp.NumberSchema:
		s.Default = nil
		return s
	case mcp.EnumSchema:
		return plainChoice(s)
	}
	return s
}

// plainEnum is a choice of one in 2025-06-18.
type plainEnum struct {
	Type        string   `json:"type"`
	Title       string   `json:"title,omitzero"`
	Description string   `json:"description,omitzero"`
	Enum        []string `json:"enum"`
	EnumNames   []string `json:"enumNames,omitempty"`
}

func plainChoice(s mcp.EnumSchema) plainEnum {
	out := plainEnum{Type: "string", Title: s.Title, Description: s.Description}
	titled := false
	for _, o := range s.Options {
		out.Enum = append(out.Enum, o.Value)
		titled = titled || o.Title != "" && o.Title != o.Value
	}
	if !titled {
		return out
	}
	for _, o := range s.Options {
		out.EnumNames = append(out.EnumNames, cmp.Or(o.Title, o.Value))
	}
	return out
}
