package cli

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host/terminal"
)

// arguments are the arguments of a tool by its input schema. They are checked for common
// mistakes: missing, unknown, of the wrong type, not among the allowed values. The server
// checks the rest.
type arguments struct {
	list   []argument // in the order of the schema
	closed bool       // no other arguments are allowed
}

type argument struct {
	name     string
	required bool

	Type        jsontext.Value   `json:"type,omitzero"`
	Description string           `json:"description,omitzero"`
	Enum        []jsontext.Value `json:"enum,omitzero"`
	Default     jsontext.Value   `json:"default,omitzero"`
	Others      jsontext.Value   `json:",embed"`
}

// readArguments reads the arguments of an input schema. Keywords that it does not support
// restrict nothing.
func readArguments(schema jsontext.Value) (*arguments, error) {
	var object struct {
		Properties jsontext.Value `json:"properties,omitzero"`
		Required   []string       `json:"required,omitzero"`
		Additional jsontext.Value `json:"additionalProperties,omitzero"`
		Others     jsontext.Value `json:",embed"`
	}
	if err := json.Unmarshal(schema, &object); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	a := &arguments{closed: string(object.Additional) == "false"}
	members, err := membersOf(object.Properties)
	if err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	for _, m := range members {
		arg := argument{}
		_ = json.Unmarshal(m.value, &arg)
		arg.name, arg.required = m.name, slices.Contains(object.Required, m.name)
		a.list = append(a.list, arg)
	}
	for _, name := range object.Required {
		if a.find(name) == nil {
			a.list = append(a.list, argument{name: name, required: true})
		}
	}
	return a, nil
}

func (a *arguments) find(name string) *argument {
	i := slices.IndexFunc(a.list, func(arg argument) bool { return arg.name == name })
	if i < 0 {
		return nil
	}
	return &a.list[i]
}

// types returns the JSON types that the argument may have; none means any.
func (a *argument) types() []string {
	var one string
	var several []string
	switch a.Type.Kind() {
	case jsontext.KindString:
		_ = json.Unmarshal(a.Type, &one)
		return []string{one}
	case jsontext.KindBeginArray:
		_ = json.Unmarshal(a.Type, &several)
	}
	return several
}

// kind describes the allowed values in a word or two.
func (a *argument) kind() string {
	if len(a.Enum) > 0 {
		return "one of " + strings.Join(a.values(), ", ")
	}
	if types := a.types(); len(types) > 0 {
		return strings.Join(types, " or ")
	}
	return "any value"
}

// values returns the allowed values as they are typed, if there are few, else nothing.
func (a *argument) values() []string {
	if slices.Equal(a.types(), []string{"boolean"}) {
		return []string{"false", "true"}
	}
	texts := make([]string, len(a.Enum))
	for i, v := range a.Enum {
		texts[i] = strings.Trim(string(v), `"`)
	}
	return texts
}

// parse returns the JSON value of a typed text. Numbers, booleans and null are recognized
// where the schema allows them, arrays and objects are typed as JSON, and everything else
// is a string where one is allowed.
func (a *argument) parse(text string) (jsontext.Value, error) {
	types := a.types()
	raw := jsontext.Value(text)
	if raw.IsValid() && raw.Kind() != jsontext.KindString && a.allows(raw) {
		return raw, nil
	}
	if len(types) == 0 || slices.Contains(types, "string") {
		quoted, err := jsontext.AppendQuote(nil, text)
		if err == nil && a.allows(quoted) {
			return quoted, nil
		}
	}
	return nil, fmt.Errorf("%s: found %s, want %s", pointerTo(a.name), text, a.want())
}

// want describes the allowed values for an error message.
func (a *argument) want() string {
	types := a.types()
	switch {
	case len(a.Enum) > 0 || len(types) == 0:
		return a.kind()
	case slices.Contains(types, "array"):
		return `an array as JSON, such as '["a","b"]'`
	case slices.Contains(types, "object"):
		return `an object as JSON, such as '{"a":1}'`
	case types[0] == "integer":
		return "an " + a.kind()
	}
	return "a " + a.kind()
}

// allows reports whether the schema allows a value, by its type and the listed values.
func (a *argument) allows(v jsontext.Value) bool {
	types := a.types()
	if len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool { return isOfType(v, t) }) {
		return false
	}
	return len(a.Enum) == 0 || slices.ContainsFunc(a.Enum, func(allowed jsontext.Value) bool { return equal(allowed, v) })
}

func isOfType(v jsontext.Value, schemaType string) bool {
	switch v.Kind() {
	case jsontext.KindString:
		return schemaType == "string"
	case jsontext.KindNumber:
		return schemaType == "number" || schemaType == "integer" && !bytes.ContainsAny(v, ".eE")
	case jsontext.KindTrue, jsontext.KindFalse:
		return schemaType == "boolean"
	case jsontext.KindNull:
		return schemaType == "null"
	case jsontext.KindBeginArray:
		return schemaType == "array"
	}
	return schemaType == "object"
}

func equal(a, b jsontext.Value) bool {
	a, b = a.Clone(), b.Clone()
	return a.Canonicalize() == nil && b.Canonicalize() == nil && bytes.Equal(a, b)
}

// fromPairs builds the arguments of a call from words of the form key=value.
func (a *arguments) fromPairs(pairs []string) (jsontext.Value, error) {
	var given []member
	for _, pair := range pairs {
		name, text, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("found %q, want KEY=VALUE", pair)
		}
		arg := a.find(name)
		if arg == nil {
			arg = &argument{name: name}
		}
		value, err := arg.parse(text)
		if err != nil {
			return nil, err
		}
		given = append(given, member{name, value})
	}
	return a.encode(given)
}

// fromJSON checks arguments that were given as one JSON object.
func (a *arguments) fromJSON(text []byte) (jsontext.Value, error) {
	given, err := membersOf(text)
	if err != nil {
		return nil, fmt.Errorf("arguments: %s", strings.TrimPrefix(err.Error(), "jsontext: "))
	}
	for _, m := range given {
		if arg := a.find(m.name); arg != nil && !arg.allows(m.value) {
			return nil, fmt.Errorf("%s: found %s, want %s", pointerTo(m.name), m.value, arg.want())
		}
	}
	return a.encode(given)
}

// encode builds one object of the given members. It fails if one is missing, unknown or
// duplicate.
func (a *arguments) encode(given []member) (jsontext.Value, error) {
	var faults []error
	for i, m := range given {
		if a.closed && a.find(m.name) == nil {
			faults = append(faults, fmt.Errorf("%s: unknown, want %s%s", pointerTo(m.name), a.names(), didYouMean(m.name, a.known())))
		}
		if slices.ContainsFunc(given[:i], func(earlier member) bool { return earlier.name == m.name }) {
			faults = append(faults, fmt.Errorf("%s: given twice", pointerTo(m.name)))
		}
	}
	for _, arg := range a.list {
		isThis := func(m member) bool { return m.name == arg.name }
		if arg.required && !slices.ContainsFunc(given, isThis) {
			faults = append(faults, errors.New(missing(arg)))
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return join(given), nil
}

func missing(arg argument) string {
	text := fmt.Sprintf("%s: missing, want %s", pointerTo(arg.name), arg.want())
	if arg.Description != "" {
		text += ": " + terminal.Brief(arg.Description)
	}
	return text
}

func (a *arguments) names() string {
	if len(a.list) == 0 {
		return "none at all"
	}
	return strings.Join(a.known(), ", ")
}

func (a *arguments) known() []string {
	names := make([]string, len(a.list))
	for i, arg := range a.list {
		names[i] = arg.name
	}
	return names
}

// pointerTo is the JSON pointer of an argument.
func pointerTo(name string) jsontext.Pointer { return jsontext.Pointer("").AppendToken(name) }

// needed reports whether any argument is required.
func (a *arguments) needed() bool {
	return slices.ContainsFunc(a.list, func(arg argument) bool { return arg.required })
}
