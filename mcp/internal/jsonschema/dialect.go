package jsonschema

import (
	"fmt"
	"strings"

	library "github.com/santhosh-tekuri/jsonschema/v6"
)

// DialectError reports a schema in a dialect of JSON Schema other than 2020-12,
// which is the default, and draft-07.
type DialectError struct {
	// Dialect is the value of $schema.
	Dialect string
}

func (e *DialectError) Error() string {
	return fmt.Sprintf("$schema %s: want https://json-schema.org/draft/2020-12/schema or http://json-schema.org/draft-07/schema", Excerpt(e.Dialect))
}

// dialectOf returns the dialect that a schema declares, or the default.
//
// Spec: 2026-07-28 basic#json-schema-usage
func dialectOf(doc any) (*library.Draft, error) {
	obj, _ := doc.(map[string]any)
	declared, ok := obj["$schema"]
	if !ok {
		return library.Draft2020, nil
	}
	name, ok := declared.(string)
	if !ok {
		return nil, fmt.Errorf("$schema: want a string")
	}
	_, path, _ := strings.Cut(strings.TrimSuffix(name, "#"), "://")
	switch {
	case !strings.HasPrefix(name, "http://") && !strings.HasPrefix(name, "https://"):
	case path == "json-schema.org/draft/2020-12/schema":
		return library.Draft2020, nil
	case path == "json-schema.org/draft-07/schema":
		return library.Draft7, nil
	}
	return nil, &DialectError{name}
}
