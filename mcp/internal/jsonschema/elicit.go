package jsonschema

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// formFormats are the formats that a form field may ask for.
var formFormats = []string{"date", "date-time", "email", "uri"}

// formKeywords lists the keywords of a form field by its JSON type, in addition to type, title
// and description.
var formKeywords = map[string][]string{
	"string":  {"minLength", "maxLength", "format", "enum", "enumNames", "oneOf", "default"},
	"number":  {"minimum", "maximum", "default"},
	"integer": {"minimum", "maximum", "default"},
	"boolean": {"default"},
	"array":   {"items", "minItems", "maxItems", "default"},
}

// CheckElicitation returns an error unless the schema is allowed for an elicitation: an object
// of strings, numbers, integers, booleans and choices, without nesting. If extended is set it
// allows titled choices (oneOf), multiple choices (array) and defaults for every type, as newer
// revisions do.
//
// It is for the server that sends the elicitation. A client accepts every schema.
//
// Spec: 2026-07-28 client/elicitation#requested-schema
func CheckElicitation(text jsontext.Value, extended bool) error {
	var form struct {
		Type       string   `json:"type"`
		Properties members  `json:"properties"`
		Required   []string `json:"required"`
	}
	var keys members
	if err := cmp.Or(json.Unmarshal(text, &keys), json.Unmarshal(text, &form)); err != nil {
		return fmt.Errorf("form: %w", err)
	}
	for _, key := range keys {
		if !slices.Contains([]string{"$schema", "type", "properties", "required"}, key.name) {
			return fmt.Errorf("form: %s: want only type, properties and required", readable(key.name))
		}
	}
	if form.Type != "object" {
		return errors.New(`form: want "type":"object"`)
	}
	fields := make(map[string]bool, len(form.Properties))
	for _, p := range form.Properties {
		fields[p.name] = true
		if err := checkFormField(p.value, extended); err != nil {
			return fmt.Errorf("form: field %s: %w", Excerpt(p.name), err)
		}
	}
	for _, name := range form.Required {
		if !fields[name] {
			return fmt.Errorf("form: required %s: no such field", Excerpt(name))
		}
	}
	return nil
}

// formField is one property of a form.
type formField struct {
	Type    string         `json:"type"`
	Format  string         `json:"format"`
	Enum    []string       `json:"enum"`
	Names   []string       `json:"enumNames"`
	OneOf   []formChoice   `json:"oneOf"`
	Default jsontext.Value `json:"default"`
	Items   *formItems     `json:"items"`
}

// formItems describes the options of a multiple choice.
type formItems struct {
	Type  string       `json:"type"`
	Enum  []string     `json:"enum"`
	AnyOf []formChoice `json:"anyOf"`
}

// formChoice is one choice with its title.
type formChoice struct {
	Const *string `json:"const"`
	Title *string `json:"title"`
}

func checkFormField(text jsontext.Value, extended bool) error {
	var f formField
	var keys members
	if err := cmp.Or(json.Unmarshal(text, &f), json.Unmarshal(text, &keys)); err != nil {
		return err
	}
	allowed, ok := formKeywords[f.Type]
	if !ok || f.Type == "array" && !extended {
		return fmt.Errorf("type %s: want string, number, integer or boolean", Excerpt(f.Type))
	}
	for _, key := range keys {
		if !slices.Contains(allowed, key.name) && !slices.Contains([]string{"type", "title", "description"}, key.name) {
			return fmt.Errorf("%s: a form has no such keyword for %s; want some of %s", readable(key.name), f.Type, strings.Join(allowed, ", "))
		}
	}
	if err := f.checkChoices(extended); err != nil {
		return err
	}
	switch {
	case f.Format != "" && !slices.Contains(formFormats, f.Format):
		return fmt.Errorf("format %s: want one of %s", Excerpt(f.Format), strings.Join(formFormats, ", "))
	case f.Default != nil && f.Type != "boolean" && !extended:
		return errors.New("default: only a boolean has one in this revision")
	case f.Default != nil && !HasType(f.Default, f.Type):
		return fmt.Errorf("default: want %s", Article(f.Type))
	}
	return nil
}

// checkChoices checks the lists of choices of a field.
func (f *formField) checkChoices(extended bool) error {
	switch {
	case f.OneOf != nil && !extended:
		return errors.New("oneOf: titles go into enumNames in this revision")
	case f.OneOf != nil && f.Enum != nil:
		return errors.New("oneOf: want it or enum, not both")
	case f.Names != nil && len(f.Names) != len(f.Enum):
		return errors.New("enumNames: want one for each value of enum")
	case f.Type == "array" && (f.Items == nil || f.Items.AnyOf == nil && (f.Items.Type != "string" || f.Items.Enum == nil)):
		return errors.New("items: want strings with enum, or anyOf")
	}
	choices := f.OneOf
	if f.Items != nil {
		choices = append(slices.Clone(choices), f.Items.AnyOf...)
	}
	for _, c := range choices {
		if c.Const == nil || c.Title == nil {
			return errors.New("choices: want const and title in each")
		}
	}
	return nil
}
