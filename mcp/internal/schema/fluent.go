package schema

import (
	"encoding/json/jsontext"
	"fmt"
	"strconv"
)

// Doc sets the description, which is what a model reads.
func (s *Schema) Doc(text string) *Schema { return s.say("doc", text) }

// Title sets the title, which is what a person sees in a form.
func (s *Schema) Title(text string) *Schema { return s.say("title", text) }

// Pattern sets a regular expression in RE2 syntax that has to match somewhere in
// the string.
func (s *Schema) Pattern(expr string) *Schema { return s.say("pattern", expr) }

// Format names one of the formats of JSON Schema, such as date or email.
func (s *Schema) Format(name string) *Schema { return s.say("format", name) }

// Min sets the least number allowed.
func (s *Schema) Min(n float64) *Schema { return s.say("min", literal(n)) }

// Max sets the greatest number allowed.
func (s *Schema) Max(n float64) *Schema { return s.say("max", literal(n)) }

// Above sets a number that the value has to exceed.
func (s *Schema) Above(n float64) *Schema { return s.say("xmin", literal(n)) }

// Below sets a number that the value has to stay under.
func (s *Schema) Below(n float64) *Schema { return s.say("xmax", literal(n)) }

// MultipleOf sets a number that has to divide the value.
func (s *Schema) MultipleOf(n float64) *Schema { return s.say("multiple", literal(n)) }

// MinLen sets the least number of characters.
func (s *Schema) MinLen(n int) *Schema { return s.say("minlen", strconv.Itoa(n)) }

// MaxLen sets the greatest number of characters.
func (s *Schema) MaxLen(n int) *Schema { return s.say("maxlen", strconv.Itoa(n)) }

// MinItems sets the least number of elements.
func (s *Schema) MinItems(n int) *Schema { return s.say("minitems", strconv.Itoa(n)) }

// MaxItems sets the greatest number of elements.
func (s *Schema) MaxItems(n int) *Schema { return s.say("maxitems", strconv.Itoa(n)) }

// Unique refuses arrays that hold equal elements.
func (s *Schema) Unique() *Schema { return s.say("unique", "true") }

// Header mirrors the property into the HTTP header Mcp-Param-<name>.
func (s *Schema) Header(name string) *Schema { return s.say("header", name) }

// Enum lists the values allowed. On an array it lists those of its elements.
func (s *Schema) Enum(values ...any) *Schema {
	texts := make([]jsontext.Value, len(values))
	for i, v := range values {
		texts[i] = s.chosen().encode("enum", v)
	}
	s.fail(s.chosen().err)
	s.fail(s.setEnumValues(texts))
	return s
}

// Const sets the only value allowed.
func (s *Schema) Const(v any) *Schema { return s.value(&s.keys.Const, "const", v) }

// Default sets the value that a form starts with and that stands for a missing
// one.
func (s *Schema) Default(v any) *Schema { return s.value(&s.keys.Default, "default", v) }

// Example adds a value to show to the reader.
func (s *Schema) Example(v any) *Schema {
	var text jsontext.Value
	s.value(&text, "example", v)
	s.keys.Examples = append(s.keys.Examples, text)
	return s
}

// Open allows members besides the named properties.
func (s *Schema) Open() *Schema {
	if s.kind() != "object" {
		s.fail(fmt.Errorf("open on %s: it is for objects", article(s.kind())))
	}
	s.keys.AdditionalProperties = nil
	return s
}

// say applies one keyword and remembers the error.
func (s *Schema) say(key, text string) *Schema {
	s.fail(s.apply(key, text))
	return s
}

// value sets a keyword that holds a value and remembers the error.
func (s *Schema) value(at *jsontext.Value, key string, v any) *Schema {
	*at = s.encode(key, v)
	return s
}

// literal returns n as JSON writes it.
func literal(n float64) string { return jsontext.Float(n).String() }
