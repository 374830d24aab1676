package schema

import (
	"cmp"
	"encoding"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
)

// Describer is implemented by types that have a schema of their own, such as a string type
// with a few values. Types that implement json.Marshaler or json.Unmarshaler must implement
// it, or get a schema by [Describe]. JSONSchema is called on a zero value. It returns one JSON
// Schema, an object without references to other documents, its patterns in RE2 syntax. The schema is used as it is, in each
// direction: it must fit what encoding/json/v2 reads and writes for the type, which
// JSONSchema does not change.
type Describer interface {
	JSONSchema() jsontext.Value
}

// between returns the schema of an integer type of fewer than 64 bits.
func between(low, high int64) *Schema {
	s := Integer().Min(float64(low)).Max(float64(high))
	s.low, s.high = s.keys.Minimum, s.keys.Maximum
	return s
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	byteType     = reflect.TypeFor[byte]()
	anyType      = reflect.TypeFor[any]()

	readers = []reflect.Type{reflect.TypeFor[json.UnmarshalerFrom](), reflect.TypeFor[json.Unmarshaler]()}
	writers = []reflect.Type{reflect.TypeFor[json.MarshalerTo](), reflect.TypeFor[json.Marshaler]()}

	textReaders = []reflect.Type{reflect.TypeFor[encoding.TextUnmarshaler]()}
	textWriters = []reflect.Type{reflect.TypeFor[encoding.TextAppender](), reflect.TypeFor[encoding.TextMarshaler]()}
)

// special returns the schema of a type whose JSON does not follow from its kind,
// and nil for other types.
func (in *inference) special(t reflect.Type) (*Schema, error) {
	asJSON, asText := readers, textReaders
	if in.use == Output {
		asJSON, asText = writers, textWriters
	}
	own, describes := reflect.New(t).Interface().(Describer)
	switch {
	case t.Kind() == reflect.Pointer:
		return nil, nil
	case in.given[t] != nil:
		return &Schema{keys: keywords{Own: in.given[t]}}, nil
	case t == valueType || t == anyType:
		return Any(), nil
	case describes:
		return described(t, own)
	case t == timeType:
		return String().Format("date-time"), nil
	case t == durationType:
		return nil, errors.New("time.Duration has no JSON form: use a string for time.ParseDuration, or a number with its unit in the name")
	case implements(t, asJSON):
		return nil, fmt.Errorf("%s reads and writes its own JSON: give it a method JSONSchema() jsontext.Value, or name its schema with the option Describe", t)
	case implements(t, asText):
		return String(), nil
	}
	return nil, nil
}

// described returns the schema of a Describer.
func described(t reflect.Type, own Describer) (*Schema, error) {
	text := own.JSONSchema()
	if text.Kind() != '{' || !text.IsValid() {
		return nil, fmt.Errorf("%s: JSONSchema returned %s: want one JSON object", t, jsonschema.Excerpt(string(text)))
	}
	if _, err := jsonschema.CompileStrict(text); err != nil {
		return nil, fmt.Errorf("%s: JSONSchema: %w", t, err)
	}
	return &Schema{keys: keywords{Own: text}}, nil
}

// repeated returns the first keyword, in alphabetical order, that both the schema of a
// Describer and a tag set, or "".
func (s *Schema) repeated() string {
	if s.keys.Own == nil {
		return ""
	}
	tagged := s.keys
	tagged.Own = nil
	text, err := json.Marshal(tagged)
	var ours, own map[string]jsontext.Value
	if err = cmp.Or(err, json.Unmarshal(text, &ours), json.Unmarshal(s.keys.Own, &own)); err != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		if _, ok := own[name]; ok {
			return name
		}
	}
	return ""
}

// unsupported returns the error for a type that has no JSON form. It names an alternative.
func unsupported(t reflect.Type) error {
	switch t.Kind() {
	case reflect.Interface:
		return fmt.Errorf("interface %s: use a concrete type, or any", t)
	case reflect.Complex64, reflect.Complex128:
		return fmt.Errorf("%s has no JSON form: use a struct of two numbers", t)
	}
	return fmt.Errorf("%s has no JSON form: leave the field out with `json:\"-\"`", t)
}

func implements(t reflect.Type, interfaces []reflect.Type) bool {
	return slices.ContainsFunc(interfaces, reflect.PointerTo(t).Implements)
}
