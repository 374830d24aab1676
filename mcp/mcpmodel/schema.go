package mcpmodel

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"math"
	"slices"
)

// schema is a JSON Schema without references, allOf and oneOf.
type schema struct {
	never bool // the schema false
	types []string

	title, description string
	notes              []string // constraints that cannot be written, in words
	defaultValue       jsontext.Value
	examples           jsontext.Value

	enum    []jsontext.Value // nil: any value
	isConst bool             // enum was written as const

	format, pattern string
	bounds          map[string]jsontext.Value // minimum, maxItems and the like

	props      []property
	additional *schema // nil: any; never: none

	items  *schema
	prefix []*schema

	anyOf []*schema
}

type property struct {
	name     string
	schema   *schema
	required bool
}

// boundKeywords are the keywords with a number, in the order in which they are written.
var boundKeywords = []string{
	"minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	"minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
}

// boundTypes names the type that a keyword is for.
var boundTypes = map[string]string{
	"minLength": "string", "maxLength": "string", "minimum": "number", "maximum": "number",
	"exclusiveMinimum": "number", "exclusiveMaximum": "number", "multipleOf": "number",
	"minItems": "array", "maxItems": "array", "uniqueItems": "array",
	"minProperties": "object", "maxProperties": "object",
}

func (s *schema) prop(name string) *property {
	for i := range s.props {
		if s.props[i].name == name {
			return &s.props[i]
		}
	}
	return nil
}

// closed reports whether an object may have no other properties.
func (s *schema) closed() bool { return s.additional != nil && s.additional.never }

// shaped reports whether s says more about a value than which of its properties are required.
func (s *schema) shaped() bool {
	return s.types != nil || s.enum != nil || s.format != "" || s.pattern != "" || len(s.bounds) > 0 ||
		s.additional != nil || s.items != nil || s.prefix != nil || s.anyOf != nil ||
		slices.ContainsFunc(s.props, func(p property) bool { return p.schema.shaped() })
}

// unconstrained reports whether s allows every value.
func (s *schema) unconstrained() bool { return !s.never && !s.shaped() && s.props == nil }

// allowsNull reports whether null satisfies s.
func (s *schema) allowsNull() bool {
	switch {
	case s.never:
		return false
	case s.anyOf != nil:
		return slices.ContainsFunc(s.anyOf, (*schema).allowsNull)
	case s.types != nil && !slices.Contains(s.types, "null"):
		return false
	case s.enum != nil:
		return slices.ContainsFunc(s.enum, isNull)
	}
	return true
}

func isNull(v jsontext.Value) bool { return v.Kind() == 'n' }

// withNull returns a schema that allows null besides what s allows.
func (s *schema) withNull() *schema {
	if s.allowsNull() {
		return s
	}
	changed := *s
	if s.anyOf != nil {
		changed.anyOf = append(slices.Clone(s.anyOf), &schema{types: []string{"null"}})
		return &changed
	}
	if s.enum != nil && !slices.ContainsFunc(s.enum, isNull) {
		changed.enum = append(slices.Clone(s.enum), jsontext.Value("null"))
		changed.isConst = false
	}
	if s.types != nil && !slices.Contains(s.types, "null") {
		changed.types = append(slices.Clone(s.types), "null")
	}
	return &changed
}

// withoutTexts returns the constraints of s alone.
func (s *schema) withoutTexts() *schema {
	bare := *s
	bare.title, bare.description, bare.notes, bare.defaultValue, bare.examples = "", "", nil, nil, nil
	return &bare
}

// only returns s for values of one type.
func (s *schema) only(kind string) *schema {
	one := &schema{types: []string{kind}}
	for _, v := range s.enum {
		if hasType(v, kind) {
			one.enum = append(one.enum, v)
		}
	}
	if s.enum != nil && one.enum == nil {
		return &schema{never: true}
	}
	for keyword, v := range s.bounds {
		if of := boundTypes[keyword]; of == kind || of == "number" && kind == "integer" {
			one.setBound(keyword, v)
		}
	}
	switch kind {
	case "string":
		one.format, one.pattern = s.format, s.pattern
	case "object":
		one.props, one.additional = s.props, s.additional
	case "array":
		one.items, one.prefix = s.items, s.prefix
	}
	return one
}

// prune removes the keywords that are for other types than those of s.
func (s *schema) prune() {
	if s.types == nil {
		return
	}
	of := func(kind string) bool {
		return slices.Contains(s.types, kind) || kind == "number" && slices.Contains(s.types, "integer")
	}
	if !of("string") {
		s.format, s.pattern = "", ""
	}
	if !of("object") {
		s.props, s.additional = nil, nil
	}
	if !of("array") {
		s.items, s.prefix = nil, nil
	}
	all := s.bounds
	s.bounds = nil
	for keyword, v := range all {
		if of(boundTypes[keyword]) {
			s.setBound(keyword, v)
		}
	}
}

func (s *schema) setBound(keyword string, v jsontext.Value) {
	if s.bounds == nil {
		s.bounds = make(map[string]jsontext.Value)
	}
	s.bounds[keyword] = v
}

// hasType reports whether a JSON value is of a type of JSON Schema.
func hasType(v jsontext.Value, kind string) bool {
	switch v.Kind() {
	case 'n':
		return kind == "null"
	case 't', 'f':
		return kind == "boolean"
	case '"':
		return kind == "string"
	case '0':
		var n float64
		return kind == "number" || kind == "integer" && json.Unmarshal(v, &n) == nil && n == math.Trunc(n)
	case '{':
		return kind == "object"
	case '[':
		return kind == "array"
	}
	return false
}

// schemaTypes are the types of JSON Schema.
var schemaTypes = []string{"null", "boolean", "string", "integer", "number", "object", "array"}

// typeOf returns the type of a JSON value.
func typeOf(v jsontext.Value) string {
	for _, kind := range schemaTypes {
		if hasType(v, kind) {
			return kind
		}
	}
	return ""
}
