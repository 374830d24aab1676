package schema

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"slices"
)

// AnyOf returns the schema of values that satisfy at least one of the alternatives (anyOf).
// There must be at least one.
func AnyOf(alternatives ...*Schema) *Schema {
	s := &Schema{keys: keywords{AnyOf: slices.Clone(alternatives)}}
	s.fail(alternativesFault(alternatives))
	return s
}

// OneOf returns the schema of values that satisfy exactly one of the alternatives (oneOf).
// There must be at least one. Use AnyOf if no value satisfies two of them: more clients and
// model APIs understand it, and errors of invalid arguments are clearer.
func OneOf(alternatives ...*Schema) *Schema {
	s := &Schema{keys: keywords{OneOf: slices.Clone(alternatives)}}
	s.fail(alternativesFault(alternatives))
	return s
}

// alternativesFault returns the error of the first alternative that has one.
func alternativesFault(alternatives []*Schema) error {
	if len(alternatives) == 0 {
		return errors.New("no alternatives: want at least one schema")
	}
	for i, s := range alternatives {
		if err := s.fault(); err != nil {
			return fmt.Errorf("alternative %d: %w", i+1, err)
		}
	}
	return nil
}

// Nullable allows null besides the values that s allows. Call it after the keywords that
// constrain the value: those that are added later apply to null, too, or are an error. Texts
// for people, such as Doc, and Default may be added before and after.
//
// A property that may be null is not optional by that: see Optional.
func (s *Schema) Nullable() *Schema {
	s.fail(s.check())
	if s.unconstrained() || s.allowsNull() {
		return s
	}
	kind, isKind := s.keys.Type.(string)
	if isKind && s.keys.Const == nil && s.keys.Enum == nil {
		s.keys.Type = []string{kind, "null"}
		return s
	}
	if isKind && s.keys.Const == nil {
		s.keys.Type = []string{kind, "null"}
		s.keys.Enum = append(slices.Clone(s.keys.Enum), jsontext.Value("null"))
		return s
	}
	if s.keys.AnyOf != nil && s.onlyUnion() {
		s.keys.AnyOf = append(s.keys.AnyOf, typed("null"))
		return s
	}
	value := *s
	value.keys.Title, value.keys.Description, value.keys.Default, value.keys.Examples = "", "", nil, nil
	*s = Schema{
		keys: keywords{
			Title: s.keys.Title, Description: s.keys.Description,
			Default: s.keys.Default, Examples: s.keys.Examples,
			AnyOf: []*Schema{&value, typed("null")},
		},
		err: s.err,
	}
	return s
}

// allowsNull reports whether s has null among its types or alternatives.
func (s *Schema) allowsNull() bool {
	switch kinds := s.keys.Type.(type) {
	case string:
		return kinds == "null"
	case []string:
		return slices.Contains(kinds, "null")
	}
	return slices.ContainsFunc(s.keys.AnyOf, (*Schema).allowsNull)
}

// onlyUnion reports whether s constrains values by anyOf alone.
func (s *Schema) onlyUnion() bool {
	rest := s.keys
	rest.AnyOf, rest.Title, rest.Description, rest.Default, rest.Examples = nil, "", "", nil, nil
	return (&Schema{keys: rest}).unconstrained()
}

// nullable returns a schema that allows null besides what s allows.
func nullable(s *Schema) *Schema {
	kind, isKind := s.keys.Type.(string)
	if s.unconstrained() || s.keys.Type != nil && !isKind {
		return s
	}
	if !isKind || s.keys.Enum != nil || s.keys.Const != nil {
		return &Schema{keys: keywords{AnyOf: []*Schema{s, typed("null")}}}
	}
	s.keys.Type = []string{kind, "null"}
	return s
}
