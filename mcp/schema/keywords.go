package schema

import (
	"encoding/json/jsontext"
	"fmt"
	"strconv"

	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
)

// Doc sets the description, which is what a model reads. It must not be empty.
func (s *Schema) Doc(text string) *Schema { return s.set("doc", text) }

// Title sets the title, which is what a user sees in a form. It must not be
// empty.
func (s *Schema) Title(text string) *Schema { return s.set("title", text) }

// Pattern sets a regular expression in RE2 syntax that has to match somewhere in
// the string: anchor it with ^ and $ to match the whole. It is for strings.
func (s *Schema) Pattern(expr string) *Schema { return s.set("pattern", expr) }

// Format sets one of the formats that JSON Schema 2020-12 defines, such as date
// or email. It is for strings.
func (s *Schema) Format(name string) *Schema { return s.set("format", name) }

// Min sets the smallest number that is allowed (minimum). It is for integers and
// numbers.
func (s *Schema) Min(n float64) *Schema { return s.set("min", literal(n)) }

// Max sets the largest number that is allowed (maximum). It is for integers and
// numbers.
func (s *Schema) Max(n float64) *Schema { return s.set("max", literal(n)) }

// Above sets a number that the value has to be greater than (exclusiveMinimum).
// It is for integers and numbers.
func (s *Schema) Above(n float64) *Schema { return s.set("xmin", literal(n)) }

// Below sets a number that the value has to be less than (exclusiveMaximum). It
// is for integers and numbers.
func (s *Schema) Below(n float64) *Schema { return s.set("xmax", literal(n)) }

// MultipleOf sets a number greater than 0 of which the value has to be a multiple.
// It is for integers and numbers.
func (s *Schema) MultipleOf(n float64) *Schema { return s.set("multiple", literal(n)) }

// MinLen sets the smallest number of characters (minLength). It is for strings.
func (s *Schema) MinLen(n int) *Schema { return s.set("minlen", strconv.Itoa(n)) }

// MaxLen sets the largest number of characters (maxLength). It is for strings.
func (s *Schema) MaxLen(n int) *Schema { return s.set("maxlen", strconv.Itoa(n)) }

// MinItems sets the smallest number of elements. It is for arrays.
func (s *Schema) MinItems(n int) *Schema { return s.set("minitems", strconv.Itoa(n)) }

// MaxItems sets the largest number of elements. It is for arrays.
func (s *Schema) MaxItems(n int) *Schema { return s.set("maxitems", strconv.Itoa(n)) }

// Unique refuses arrays that hold equal elements (uniqueItems).
func (s *Schema) Unique() *Schema { return s.set("unique", "true") }

// Header makes clients copy the argument into the HTTP header Mcp-Param-<name>
// (x-mcp-header), so that proxies can route and limit calls by it. The name must be an HTTP
// token. It is for strings, integers and booleans.
//
// Spec: 2026-07-28 basic/transports#custom-headers-from-tool-parameters
func (s *Schema) Header(name string) *Schema { return s.set("header", name) }

// Enum sets the values that are allowed; they must differ. On an array it sets
// those of its elements. Each value is encoded by encoding/json/v2 and has to be
// of the type of the schema.
func (s *Schema) Enum(values ...any) *Schema {
	texts := make([]jsontext.Value, len(values))
	for i, v := range values {
		texts[i] = s.enumerated().encode("enum", v)
	}
	s.fail(s.enumerated().err)
	s.fail(s.setEnumValues(texts))
	return s
}

// Const sets the only value that is allowed. It is encoded by encoding/json/v2.
func (s *Schema) Const(v any) *Schema {
	s.keys.Const = s.encode("const", v)
	return s
}

// Default sets the value that is used for a missing property, and that a form shows at
// first. It is encoded by encoding/json/v2.
func (s *Schema) Default(v any) *Schema {
	s.keys.Default = s.encode("default", v)
	return s
}

// Example adds a value to examples. It is encoded by encoding/json/v2.
func (s *Schema) Example(v any) *Schema {
	s.keys.Examples = append(s.keys.Examples, s.encode("example", v))
	return s
}

// Open allows properties besides those that Object or Map got. It is for objects.
func (s *Schema) Open() *Schema {
	if s.kind() != "object" {
		s.fail(fmt.Errorf("open on %s: it is for objects", jsonschema.Article(s.kind())))
	}
	s.keys.AdditionalProperties = nil
	return s
}

// set applies one keyword, by the name of its struct tag, and records the error.
func (s *Schema) set(key, text string) *Schema {
	s.fail(s.apply(key, text))
	return s
}

// literal returns n as JSON writes it.
func literal(n float64) string { return jsontext.Float(n).String() }
