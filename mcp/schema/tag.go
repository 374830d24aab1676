package schema

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
)

// keyword is a keyword of JSON Schema under the key of its struct tag. The
// methods of Schema use the same table, so that a tag and a method mean the same
// and give the same errors.
type keyword struct {
	key   string
	kinds []string // the JSON types that it applies to; nil means all
	set   func(s *Schema, text string) error
}

var (
	numeric = []string{"integer", "number"}
	texts   = []string{"string"}
	arrays  = []string{"array"}
)

// keywordTable is in the order in which the tags of a field are applied.
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

// alternatives names, for a keyword that was used on a wrong type, the keyword for that type.
var alternatives = map[string]map[string]string{
	"min":      {"string": "minlen", "array": "minitems"},
	"max":      {"string": "maxlen", "array": "maxitems"},
	"minlen":   {"integer": "min", "number": "min", "array": "minitems"},
	"maxlen":   {"integer": "max", "number": "max", "array": "maxitems"},
	"minitems": {"integer": "min", "number": "min", "string": "minlen"},
	"maxitems": {"integer": "max", "number": "max", "string": "maxlen"},
}

func isKeyword(key string) bool {
	return slices.ContainsFunc(keywordTable, func(k keyword) bool { return k.key == key })
}

// apply sets the keyword with the key to the value that the text stands for.
func (s *Schema) apply(key, text string) error {
	i := slices.IndexFunc(keywordTable, func(k keyword) bool { return k.key == key })
	k := keywordTable[i]
	if kind := s.kind(); k.kinds != nil && !slices.Contains(k.kinds, kind) {
		if instead := alternatives[key][kind]; instead != "" {
			return fmt.Errorf("%s on %s: use %s", key, jsonschema.Article(kind), instead)
		}
		return fmt.Errorf("%s on %s: it is for %s", key, jsonschema.Article(kind), plurals(k.kinds))
	}
	if err := k.set(s, text); err != nil {
		return fmt.Errorf("%s %q: %w", key, text, err)
	}
	return nil
}

// check returns an error for the first keyword of s that contradicts another.
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
	if low == nil || high == nil || jsonschema.Rat(low).Cmp(jsonschema.Rat(high)) <= 0 {
		return nil
	}
	return fmt.Errorf("%s %q: greater than %s %q", lowKey, low, highKey, high)
}

// admits returns an error for the first of the values that s refuses. key is their keyword.
func (s *Schema) admits(key string, values ...jsontext.Value) error {
	for _, v := range values {
		if v == nil || !s.scalar() {
			continue
		}
		text, err := json.Marshal(s)
		if err != nil {
			return err
		}
		if err := jsonschema.Lazy(text, nil).Validate(v); err != nil {
			return fmt.Errorf("%s %s: %w", key, v, err)
		}
	}
	return nil
}

// scalar reports whether s is a schema of scalars, or of arrays of scalars. Other schemas may
// refer to definitions that are not part of them.
func (s *Schema) scalar() bool {
	switch s.kind() {
	case "", "object":
		return false
	case "array":
		return s.keys.Items != nil && s.keys.Items.scalar()
	}
	return true
}

func setText(at *string, text string) error {
	if text == "" {
		return errors.New("want a text that is not empty")
	}
	*at = text
	return nil
}

func setPattern(s *Schema, text string) error {
	if err := jsonschema.CheckPattern(text); err != nil {
		return err
	}
	s.keys.Pattern = text
	return nil
}

// formats are those that JSON Schema 2020-12 defines.
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
	if jsonschema.Rat(s.keys.MultipleOf).Sign() <= 0 {
		return errors.New("want a number greater than 0")
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
	if s.enumerated().scalar() && strings.Contains(text, ",") && !strings.Contains(text, "|") {
		bars := strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }), "|")
		return fmt.Errorf("commas separate no values; want enum:%q, or const for one value that has a comma", bars)
	}
	var values []jsontext.Value
	for part := range strings.SplitSeq(text, "|") {
		v, err := s.enumerated().parse(part)
		if err != nil {
			return err
		}
		values = append(values, v)
	}
	return s.setEnumValues(values)
}

// enumerated returns the schema of what an enum lists: the elements of an array, or s.
func (s *Schema) enumerated() *Schema {
	if s.kind() == "array" && s.keys.Items != nil {
		return s.keys.Items
	}
	return s
}

func (s *Schema) setEnumValues(values []jsontext.Value) error {
	for i, v := range values {
		if slices.ContainsFunc(values[:i], func(w jsontext.Value) bool { return string(v) == string(w) }) {
			return fmt.Errorf("%s is given twice", v)
		}
	}
	s.enumerated().keys.Enum = values
	return nil
}

func setExample(s *Schema, text string) error {
	v, err := s.parse(text)
	s.keys.Examples = append(s.keys.Examples, v)
	return err
}

func setHeader(s *Schema, text string) error {
	if err := jsonschema.CheckHeaderName(text); err != nil {
		return err
	}
	s.keys.Header = text
	return nil
}

func setCount(at *jsontext.Value, text string) error {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return errors.New("want a whole number from 0 to 2147483647")
	}
	*at = jsontext.Value(strconv.FormatUint(n, 10))
	return nil
}

func (s *Schema) setNumber(at *jsontext.Value, text string) error {
	v := jsontext.Value(text)
	if v.Kind() != '0' || !v.IsValid() || jsonschema.CheckNumber(text) != nil {
		return errors.New("want a number")
	}
	if s.kind() == "integer" && !jsonschema.Rat(v).IsInt() {
		return errors.New("want a whole number")
	}
	if s.low != nil && jsonschema.Rat(v).Cmp(jsonschema.Rat(s.low)) < 0 || s.high != nil && jsonschema.Rat(v).Cmp(jsonschema.Rat(s.high)) > 0 {
		return errors.New("want a number within the range of the Go type")
	}
	*at = v
	return nil
}

func (s *Schema) setValue(at *jsontext.Value, text string) error {
	v, err := s.parse(text)
	*at = v
	return err
}
