package schema

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"math/big"
	"strings"
)

// encode returns v as JSON, which has to be of the type of s.
func (s *Schema) encode(key string, v any) jsontext.Value {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		s.fail(fmt.Errorf("%s: %w", key, err))
		return nil
	}
	if kind := s.kind(); !hasKind(text, kind) {
		s.fail(fmt.Errorf("%s %s: want %s", key, text, article(kind)))
	}
	return text
}

// parse reads the text of a tag as a value of the type of s. Strings are written
// without quotes.
func (s *Schema) parse(text string) (jsontext.Value, error) {
	kind := s.kind()
	if kind == "string" {
		v, err := jsontext.AppendQuote(nil, text)
		return v, err
	}
	v := jsontext.Value(strings.TrimSpace(text))
	if !v.IsValid() || !hasKind(v, kind) {
		return nil, fmt.Errorf("want %s", article(kind))
	}
	return v, v.Compact()
}

// hasKind reports whether the JSON text v is of the JSON type named kind. Every
// value is of kind "".
func hasKind(v jsontext.Value, kind string) bool {
	switch kind {
	case "string":
		return v.Kind() == '"'
	case "number":
		return v.Kind() == '0' && checkNumber(string(v)) == nil
	case "integer":
		return v.Kind() == '0' && checkNumber(string(v)) == nil && rat(v).IsInt()
	case "boolean":
		return v.Kind() == 't' || v.Kind() == 'f'
	case "array":
		return v.Kind() == '['
	case "object":
		return v.Kind() == '{'
	}
	return true
}

// rat returns the exact value of a JSON number that checkNumber accepts.
func rat(v jsontext.Value) *big.Rat {
	r, _ := new(big.Rat).SetString(string(v))
	return r
}

// article names one value of a JSON type in a sentence.
func article(kind string) string {
	switch kind {
	case "":
		return "a value of any type"
	case "integer", "array", "object":
		return "an " + kind
	}
	return "a " + kind
}

func plurals(kinds []string) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = kind + "s"
	}
	return strings.Join(names, ", ")
}
