package schema

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
)

// encode returns v as JSON, which has to be of the type of s.
func (s *Schema) encode(key string, v any) jsontext.Value {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		s.fail(fmt.Errorf("%s: %w", key, err))
		return nil
	}
	if kind := s.kind(); !jsonschema.HasType(text, kind) {
		s.fail(fmt.Errorf("%s %s: want %s", key, text, jsonschema.Article(kind)))
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
	if !v.IsValid() || !jsonschema.HasType(v, kind) {
		return nil, fmt.Errorf("want %s", jsonschema.Article(kind))
	}
	return v, v.Compact()
}

func plurals(kinds []string) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = kind + "s"
	}
	return strings.Join(names, ", ")
}
