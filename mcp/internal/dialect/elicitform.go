package dialect

import (
	"bytes"
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"maps"
	"slices"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// formFields returns the fields of a form, or nil if its schema cannot be
// decoded.
func formFields(form jsontext.Value) []mcp.ElicitField {
	var s mcp.ElicitSchema
	if json.Unmarshal(orEmpty(form), &s) != nil {
		return nil
	}
	return s.Fields
}

// RichForm converts a form to the newest revision: titles of choices in
// enumNames become options with titles. It does not change any other form.
func RichForm(form jsontext.Value) jsontext.Value {
	if !bytes.Contains(form, []byte(`"enumNames"`)) {
		return form
	}
	fields := formFields(form)
	if fields == nil {
		return form
	}
	rich, err := json.Marshal(mcp.ElicitSchema{Fields: fields})
	if err != nil {
		return form
	}
	return rich
}

// plainForm converts a form to 2025-06-18: titles of choices become enumNames,
// only booleans keep a default, and a multiple choice becomes one boolean for
// each option. It does not change a form that cannot be decoded.
//
// Spec: 2025-06-18 client/elicitation#requested-schema
func plainForm(form jsontext.Value) jsontext.Value {
	fields := formFields(form)
	if fields == nil {
		return form
	}
	properties, required := []byte{'{'}, []string{}
	add := func(name string, schema any) error {
		raw, err := json.Marshal(schema, json.Deterministic(true))
		if len(properties) > 1 {
			properties = append(properties, ',')
		}
		properties, _ = jsontext.AppendQuote(properties, name)
		properties = append(append(properties, ':'), raw...)
		return err
	}
	folds := foldsOf(fields)
	for _, field := range fields {
		if fold, ok := folds[field.Name]; ok {
			for _, o := range fold.options {
				if add(o.name, o.schema) != nil {
					return form
				}
			}
			continue
		}
		if add(field.Name, plainField(field.Schema)) != nil {
			return form
		}
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

// plainEnum is a single choice in 2025-06-18.
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

// fold is a multiple choice that a form expresses by one boolean per option.
type fold struct {
	required bool
	options  []foldedOption
}

// foldedOption is one option: its value, and the boolean field of the form for
// it.
type foldedOption struct {
	value  string
	name   string
	schema mcp.BooleanSchema
}

// foldsOf returns the multiple choices among the fields, by name.
func foldsOf(fields []mcp.ElicitField) map[string]fold {
	taken := make(map[string]bool)
	for _, field := range fields {
		taken[field.Name] = true
	}
	folds := make(map[string]fold)
	for _, field := range fields {
		choice, ok := field.Schema.(mcp.EnumSchema)
		if !ok || !choice.Multiple {
			continue
		}
		f := fold{required: field.Required}
		for _, o := range choice.Options {
			name := field.Name + "." + o.Value
			for taken[name] {
				name += "_"
			}
			taken[name] = true
			f.options = append(f.options, foldedOption{o.Value, name, optionSchema(field.Name, choice, o)})
		}
		folds[field.Name] = f
	}
	return folds
}

func optionSchema(field string, choice mcp.EnumSchema, o mcp.EnumOption) mcp.BooleanSchema {
	s := mcp.BooleanSchema{
		Title:       cmp.Or(choice.Title, field) + ": " + cmp.Or(o.Title, o.Value),
		Description: choice.Description,
	}
	if choice.Default != nil {
		s.Default = new(slices.Contains(choice.Default, o.Value))
	}
	return s
}

// foldAnswer converts the answer to a plain form to an answer to the original
// form: the booleans of a multiple choice become a list. It checks nothing: a
// value that is not a boolean is added to the list, so that validation of the
// list fails.
func foldAnswer(answer, form jsontext.Value) jsontext.Value {
	folds := foldsOf(formFields(form))
	var result mcp.ElicitResult
	if len(folds) == 0 || json.Unmarshal(answer, &result) != nil || result.Content.Kind() != '{' {
		return answer
	}
	given, kept := make(map[string]jsontext.Value), []byte{'{'}
	for name, value := range rawjson.Members(result.Content) {
		given[string(name)] = value
	}
	add := func(name string, value jsontext.Value) {
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept, _ = jsontext.AppendQuote(kept, name)
		kept = append(append(kept, ':'), value...)
	}
	asked := make(map[string]bool)
	for _, name := range slices.Sorted(maps.Keys(folds)) {
		asked[name] = true
		for _, o := range folds[name].options {
			asked[o.name] = true
		}
		if list := folds[name].list(given); list != nil {
			add(name, list)
		}
	}
	for name, value := range rawjson.Members(result.Content) {
		if !asked[string(name)] {
			add(string(name), value)
		}
	}
	result.Content = append(kept, '}')
	folded, err := json.Marshal(&result)
	if err != nil {
		return answer
	}
	return folded
}

// list returns the chosen options, or nil if none is chosen and none is
// required.
func (f fold) list(given map[string]jsontext.Value) jsontext.Value {
	chosen, answered := []jsontext.Value{}, false
	for _, o := range f.options {
		value, ok := given[o.name]
		answered = answered || ok
		switch {
		case !ok || value.Kind() == 'f':
		case value.Kind() == 't':
			quoted, _ := jsontext.AppendQuote(nil, o.value)
			chosen = append(chosen, quoted)
		default:
			chosen = append(chosen, value)
		}
	}
	if !answered && !f.required {
		return nil
	}
	list, _ := json.Marshal(chosen)
	return list
}
