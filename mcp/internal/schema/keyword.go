package schema

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// keyword is one thing that can be said about a schema, under the key that it
// has in a struct tag. The methods of Schema go through the same table, so that
// a tag and a call mean the same and fail alike.
type keyword struct {
	key   string
	kinds []string // the JSON types that it can be said of; nil means all
	set   func(s *Schema, text string) error
}

var (
	numeric = []string{"integer", "number"}
	texts   = []string{"string"}
	arrays  = []string{"array"}
)

// keywordTable is in the order in which the tags of a field are applied: enum
// before the values that have to be among its members.
var keywordTable = []keyword{
	{"doc", nil, func(s *Schema, text string) error { return setText(&s.keys.Description, text) }},
	{"title", nil, func(s *Schema, text string) error { return setText(&s.keys.Title, text) }},
	{"pattern", texts, setPattern},
	{"format", texts, setFormat},
	{"min", numeric, func(s *Schema, text string) error { return s.setNumber(&s.keys.Minimum, text) }},
	{"xmin", numeric, func(s *Schema, text string) error { return s.setNumber(&s.keys.ExclusiveMinimum, text) }},
	{"max", numeric, func(s *Schema, text string) error { return s.setNumber(&s.keys.Maximum, text) }},
	{"xmax", numeric, func(s *Schema, text string) error { return s.setNumber(&s.keys.ExclusiveMaximum, text) }},
	{"multiple", numeric, setMultiple},
	{"minlen", texts, func(s *Schema, text string) error { return setCount(&s.keys.MinLength, text) }},
	{"maxlen", texts, func(s *Schema, text string) error { return setCount(&s.keys.MaxLength, text) }},
	{"minitems", arrays, func(s *Schema, text string) error { return setCount(&s.keys.MinItems, text) }},
	{"maxitems", arrays, func(s *Schema, text string) error { return setCount(&s.keys.MaxItems, text) }},
	{"unique", arrays, setUnique},
	{"enum", nil, setEnum},
	{"const", nil, func(s *Schema, text string) error { return s.setValue(&s.keys.Const, text) }},
	{"default", nil, func(s *Schema, text string) error { return s.setValue(&s.keys.Default, text) }},
	{"example", nil, setExample},
	{"header", []string{"string", "integer", "boolean"}, setHeader},
}

// insteads names the keyword to use where one was used on a wrong type.
var insteads = map[string]map[string]string{
	"min":      {"string": "minlen", "array": "minitems"},
	"max":      {"string": "maxlen", "array": "maxitems"},
	"minlen":   {"integer": "min", "number": "min", "array": "minitems"},
	"maxlen":   {"integer": "max", "number": "max", "array": "maxitems"},
	"minitems": {"integer": "min", "number": "min", "string": "minlen"},
	"maxitems": {"integer": "max", "number": "max", "string": "maxlen"},
}

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
		texts[i] = s.encode("enum", v)
	}
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

// apply sets the keyword that has the given key in a struct tag.
func (s *Schema) apply(key, text string) error {
	i := slices.IndexFunc(keywordTable, func(k keyword) bool { return k.key == key })
	k := keywordTable[i]
	if kind := s.kind(); k.kinds != nil && !slices.Contains(k.kinds, kind) {
		if instead := insteads[key][kind]; instead != "" {
			return fmt.Errorf("%s on %s: use %s", key, article(kind), instead)
		}
		return fmt.Errorf("%s on %s: it is for %s", key, article(kind), plurals(k.kinds))
	}
	if err := k.set(s, text); err != nil {
		return fmt.Errorf("%s %q: %w", key, text, err)
	}
	return nil
}

// check reports the first contradiction among the keywords of s.
func (s *Schema) check() error {
	k := &s.keys
	return cmp.Or(
		ordered("min", k.Minimum, "max", k.Maximum),
		ordered("minlen", k.MinLength, "maxlen", k.MaxLength),
		ordered("minitems", k.MinItems, "maxitems", k.MaxItems),
		s.admits("const", k.Const),
		s.admits("default", k.Default),
		s.admits("example", k.Examples...),
	)
}

func ordered(lowKey string, low jsontext.Value, highKey string, high jsontext.Value) error {
	if low == nil || high == nil || rat(low).Cmp(rat(high)) <= 0 {
		return nil
	}
	return fmt.Errorf("%s %q: greater than %s %q", lowKey, low, highKey, high)
}

// admits reports a value named by a keyword that s itself refuses. Objects are
// not looked into: parts of them may be defined elsewhere.
func (s *Schema) admits(key string, values ...jsontext.Value) error {
	if kind := s.kind(); kind == "" || kind == "object" || kind == "array" && s.keys.Items.kind() == "" {
		return nil
	}
	for _, v := range values {
		if v == nil {
			continue
		}
		text, err := json.Marshal(s)
		if err != nil {
			return err
		}
		if err := Lazy(text, nil).Validate(v); err != nil {
			return fmt.Errorf("%s %s: %w", key, v, err)
		}
	}
	return nil
}

func setText(at *string, text string) error {
	if text == "" {
		return errors.New("want a text")
	}
	*at = text
	return nil
}

func setPattern(s *Schema, text string) error {
	if _, err := compilePattern(text); err != nil {
		return err
	}
	s.keys.Pattern = text
	return nil
}

// formats are those that the dialect defines.
var formats = []string{
	"date", "date-time", "duration", "email", "hostname", "idn-email", "idn-hostname",
	"ipv4", "ipv6", "iri", "iri-reference", "json-pointer", "regex", "relative-json-pointer",
	"time", "uri", "uri-reference", "uri-template", "uuid",
}

func setFormat(s *Schema, text string) error {
	if !slices.Contains(formats, text) {
		return fmt.Errorf("want one of %s", strings.Join(formats, ", "))
	}
	s.keys.Format = text
	return nil
}

func setMultiple(s *Schema, text string) error {
	if err := s.setNumber(&s.keys.MultipleOf, text); err != nil {
		return err
	}
	if rat(s.keys.MultipleOf).Sign() <= 0 {
		return errors.New("want more than 0")
	}
	return nil
}

func setUnique(s *Schema, text string) error {
	if text != "true" {
		return errors.New("want true, or leave it out")
	}
	s.keys.UniqueItems = true
	return nil
}

func setEnum(s *Schema, text string) error {
	of := s
	if s.kind() == "array" {
		of = s.keys.Items
	}
	var values []jsontext.Value
	for part := range strings.SplitSeq(text, "|") {
		v, err := of.parse(part)
		if err != nil {
			return err
		}
		values = append(values, v)
	}
	return s.setEnumValues(values)
}

// setEnumValues puts the values where they belong: an array lists those of its
// elements.
func (s *Schema) setEnumValues(values []jsontext.Value) error {
	if s.kind() == "array" {
		return s.keys.Items.setEnumValues(values)
	}
	for i, v := range values {
		if slices.ContainsFunc(values[:i], func(w jsontext.Value) bool { return string(v) == string(w) }) {
			return fmt.Errorf("%s is there twice", v)
		}
	}
	s.keys.Enum = values
	return nil
}

func setExample(s *Schema, text string) error {
	v, err := s.parse(text)
	s.keys.Examples = append(s.keys.Examples, v)
	return err
}

func setHeader(s *Schema, text string) error {
	if err := checkHeaderName(text); err != nil {
		return err
	}
	s.keys.Header = text
	return nil
}

func setCount(at *jsontext.Value, text string) error {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return errors.New("want a count")
	}
	*at = jsontext.Value(strconv.FormatUint(n, 10))
	return nil
}

func (s *Schema) setNumber(at *jsontext.Value, text string) error {
	v := jsontext.Value(text)
	if v.Kind() != '0' || !v.IsValid() || checkNumber(text) != nil {
		return errors.New("want a number")
	}
	if s.kind() == "integer" && !rat(v).IsInt() {
		return errors.New("want a whole number")
	}
	if s.low != nil && rat(v).Cmp(rat(s.low)) < 0 || s.high != nil && rat(v).Cmp(rat(s.high)) > 0 {
		return errors.New("beyond the range of the Go type")
	}
	*at = v
	return nil
}

func (s *Schema) setValue(at *jsontext.Value, text string) error {
	v, err := s.parse(text)
	*at = v
	return err
}

func (s *Schema) value(at *jsontext.Value, key string, v any) *Schema {
	*at = s.encode(key, v)
	return s
}

// encode returns v as JSON, which has to be of the type of s or, when s is an
// array, of its elements for an enum.
func (s *Schema) encode(key string, v any) jsontext.Value {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		s.fail(fmt.Errorf("%s: %w", key, err))
		return nil
	}
	of := s
	if key == "enum" && s.kind() == "array" {
		of = s.keys.Items
	}
	if !hasKind(text, of.kind()) {
		s.fail(fmt.Errorf("%s %s: want %s", key, text, article(of.kind())))
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

func literal(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }

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
