package schema

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
)

// Use is the direction in which a schema that is inferred from a Go type is used.
type Use int

const (
	// Input is for values that a program reads, such as the arguments of a tool: a
	// struct allows no other properties, and a pointer is a property that may be
	// missing.
	Input Use = iota
	// Output is for values that a program writes, such as the result of a tool: a
	// struct allows other properties, so that a later version may add some, and a
	// pointer may be null.
	Output
	// Elicitation is for forms: one struct of strings, numbers, booleans and
	// choices. It allows other properties, because the schemas of forms have no
	// keyword to forbid them.
	//
	// Spec: 2026-07-28 client/elicitation#requested-schema
	Elicitation
)

// For returns the JSON Schema of the JSON that encoding/json/v2 reads or writes
// for a T. A pointer to a type has the schema of the type.
//
// The properties of a struct have the order of its fields and the names of its
// json tags. For Input and Elicitation a property is required unless its field is
// a pointer, has the option omitzero or omitempty, or has a default; for Output
// it is required unless it has one of the options. The package comment lists the
// tags that add keywords. A type that implements Describer has the schema that it
// returns, and one that implements encoding.TextMarshaler (encoding.TextUnmarshaler
// for Input) is a string. A recursive type becomes a reference into $defs, or to
// the root; every other type is written in place, because many models do not
// follow references.
//
// The error names the field and says what to write instead. The result is
// computed once per type, unless there are options; the text that is returned belongs to the
// caller. For is safe for concurrent use.
func For[T any](use Use, opts ...Option) (jsontext.Value, error) {
	return ForType(reflect.TypeFor[T](), use, opts...)
}

// ForType is For for a type that is known at run time only.
func ForType(t reflect.Type, use Use, opts ...Option) (jsontext.Value, error) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if len(opts) > 0 {
		return infer(t, use, opts)
	}
	once, _ := inferred.LoadOrStore(inferredKey{t, use}, sync.OnceValues(func() (jsontext.Value, error) {
		return infer(t, use, nil)
	}))
	text, err := once.(func() (jsontext.Value, error))()
	return text.Clone(), err
}

// inferred holds the schemas of types, by inferredKey.
var inferred sync.Map

type inferredKey struct {
	typ reflect.Type
	use Use
}

func infer(t reflect.Type, use Use, opts []Option) (jsontext.Value, error) {
	given, err := givenSchemas(opts)
	if err != nil {
		return nil, err
	}
	in := inference{use: use, root: t, given: given, left: jsonschema.MaxSubschemas}
	s, err := in.schema(t)
	if err != nil {
		return nil, err
	}
	for _, d := range in.named {
		s.keys.Defs = append(s.keys.Defs, Property{name: d.name, schema: d.schema})
	}
	text, err := s.JSON()
	if err != nil {
		return nil, err
	}
	if err := jsonschema.Check(text, nil); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t, err)
	}
	if use == Elicitation {
		return text, jsonschema.CheckElicitation(text, true)
	}
	return text, nil
}

// inference is the state of one call of infer.
type inference struct {
	use   Use
	root  reflect.Type
	given map[reflect.Type]jsontext.Value // the schemas of Describe
	left  int                             // subschemas that may still be made
	open  []reflect.Type                  // the named types that the current one is part of
	named []definition                    // recursive types other than the root
}

// definition is a type that refers to itself, under its name in $defs.
type definition struct {
	typ    reflect.Type
	name   string
	schema *Schema // nil while it is being made
}

// schema returns the schema of t, without the keywords from struct tags.
func (in *inference) schema(t reflect.Type) (*Schema, error) {
	if in.left--; in.left < 0 {
		return nil, fmt.Errorf("more than %d subschemas in all: use jsontext.Value for a part", jsonschema.MaxSubschemas)
	}
	if s, err := in.special(t); s != nil || err != nil {
		return s, err
	}
	switch t.Kind() {
	case reflect.Bool:
		return Boolean(), nil
	case reflect.Int, reflect.Int64:
		return Integer(), nil
	case reflect.Int8, reflect.Int16, reflect.Int32:
		return between(-1<<(t.Bits()-1), 1<<(t.Bits()-1)-1), nil
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return between(0, 1<<t.Bits()-1), nil
	case reflect.Uint, reflect.Uint64, reflect.Uintptr:
		s := Integer().Min(0)
		s.low = s.keys.Minimum
		return s, nil
	case reflect.Float32, reflect.Float64:
		return Number(), nil
	case reflect.String:
		return String(), nil
	case reflect.Pointer:
		return in.pointer(t)
	case reflect.Slice, reflect.Array:
		return in.nest(t, in.list)
	case reflect.Map:
		return in.nest(t, in.mapping)
	case reflect.Struct:
		return in.nest(t, in.members)
	}
	return nil, unsupported(t)
}

func (in *inference) pointer(t reflect.Type) (*Schema, error) {
	s, err := in.schema(t.Elem())
	if err == nil && in.use == Output {
		s = nullable(s)
	}
	return s, err
}

// list returns the schema of a slice or array. Bytes are one base64 string.
func (in *inference) list(t reflect.Type) (*Schema, error) {
	if t.Elem() == byteType {
		s := String()
		s.keys.ContentEncoding = "base64"
		return s, nil
	}
	items, err := in.schema(t.Elem())
	if err != nil {
		return nil, err
	}
	s := Array(items)
	if t.Kind() == reflect.Array {
		s.MinItems(t.Len()).MaxItems(t.Len())
	}
	return s, nil
}

func (in *inference) mapping(t reflect.Type) (*Schema, error) {
	if t.Key().Kind() != reflect.String {
		return nil, fmt.Errorf("map with %s keys: use map[string]%s", t.Key(), t.Elem())
	}
	values, err := in.schema(t.Elem())
	if err != nil {
		return nil, err
	}
	return Map(values), nil
}

// nest returns the schema of a type that has parts. Where a type is part of
// itself, the inner one is a reference: to the root, or to a definition in $defs.
// Only named types become references: each cycle of Go types goes through one,
// and an unnamed type, such as a slice, has no name for a definition.
func (in *inference) nest(t reflect.Type, parts func(reflect.Type) (*Schema, error)) (*Schema, error) {
	if t.Name() == "" {
		return parts(t)
	}
	if slices.Contains(in.open, t) || in.definition(t) >= 0 {
		return in.reference(t), nil
	}
	in.open = append(in.open, t)
	s, err := parts(t)
	in.open = in.open[:len(in.open)-1]
	if i := in.definition(t); err == nil && i >= 0 {
		in.named[i].schema = s
		return in.reference(t), nil
	}
	return s, err
}

// members returns the object schema of the fields of t.
func (in *inference) members(t reflect.Type) (*Schema, error) {
	fields, others, err := structFields(t)
	if err != nil {
		return nil, err
	}
	s := Object()
	for _, f := range fields {
		p, err := in.property(f)
		if err != nil {
			return nil, inField(f.goPath, err)
		}
		s.add(p)
	}
	switch {
	case others == nil && in.use != Input, others == valueType, others == anyType:
		s.Open()
	case others != nil:
		s.keys.AdditionalProperties, err = in.schema(others)
	}
	return s, err
}

// property returns the property of one field, with the keywords of its tags.
func (in *inference) property(f field) (Property, error) {
	if err := checkTag(f); err != nil {
		return Property{}, err
	}
	null := f.typ.Kind() == reflect.Pointer
	s, err := in.schema(indirect(f.typ))
	if err != nil {
		return Property{}, err
	}
	if f.quoted {
		if s, err = inString(s); err != nil {
			return Property{}, err
		}
	}
	for _, k := range keywordTable {
		if text, ok := f.tag.Lookup(k.key); ok {
			if err := s.apply(k.key, text); err != nil {
				return Property{}, err
			}
		}
	}
	if err := s.check(); err != nil {
		return Property{}, err
	}
	if name := s.repeated(); name != "" {
		return Property{}, fmt.Errorf("the schema of %s has %s already", f.typ, name)
	}
	if in.use != Output {
		return Property{f.name, s, !f.omittable && !null && s.keys.Default == nil}, nil
	}
	if null && !f.omittable {
		s = nullable(s)
	}
	return Property{f.name, s, !f.omittable}, nil
}

// inString returns the schema of a JSON string that holds a number, which is
// what the option string of a json tag writes.
func inString(number *Schema) (*Schema, error) {
	switch {
	case number.kind() == "number":
		return String().Pattern(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`), nil
	case number.kind() == "integer" && string(number.low) == "0":
		return String().Pattern(`^(0|[1-9][0-9]*)$`), nil
	case number.kind() == "integer":
		return String().Pattern(`^-?(0|[1-9][0-9]*)$`), nil
	}
	return nil, errors.New("json option string: it is for numbers")
}

// reference returns a reference to t, and adds a definition of t unless t is the
// root or there is one.
func (in *inference) reference(t reflect.Type) *Schema {
	if t == in.root {
		return &Schema{keys: keywords{Ref: "#"}}
	}
	i := in.definition(t)
	if i < 0 {
		i = len(in.named)
		in.named = append(in.named, definition{typ: t, name: in.freeName(t)})
	}
	return &Schema{keys: keywords{Ref: "#/$defs/" + in.named[i].name}}
}

func (in *inference) definition(t reflect.Type) int {
	return slices.IndexFunc(in.named, func(d definition) bool { return d.typ == t })
}

// freeName returns a name for the definition of t: its name without type arguments, in
// characters that a reference need not escape, and with a number if another type has the
// same name.
func (in *inference) freeName(t reflect.Type) string {
	plain, _, _ := strings.Cut(t.Name(), "[")
	plain = strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '_' || r == '.' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z') {
			return r
		}
		return '_'
	}, plain)
	name := plain
	for n := 2; slices.ContainsFunc(in.named, func(d definition) bool { return d.name == name }); n++ {
		name = fmt.Sprintf("%s%d", plain, n)
	}
	return name
}

// fieldError is an error of a field with the path to the field.
type fieldError struct {
	path string
	err  error
}

func (e *fieldError) Error() string { return "field " + e.path + ": " + e.err.Error() }

func (e *fieldError) Unwrap() error { return e.err }

func inField(name string, err error) error {
	if e, ok := err.(*fieldError); ok {
		return &fieldError{name + "." + e.path, e.err}
	}
	return &fieldError{name, err}
}
