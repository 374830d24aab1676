package schema

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"reflect"

	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
)

// Option changes how the schema of a type is inferred.
type Option struct {
	typ  reflect.Type
	text jsontext.Value
}

// Describe is the option that gives the type T, which may belong to another package, a
// schema: a JSON object without references to other documents, its patterns in RE2 syntax. It is for types that read and
// write their own JSON, such as big.Int, and for other types whose schema is to be another
// one. It takes precedence over a method JSONSchema. A *T has the same schema, except that it
// may also be null for Output.
//
// The schema has to fit what encoding/json/v2 reads and writes for a T, which the option does
// not change: a sql.NullString is an object with String and Valid. To change the JSON, define
// a type of your own with methods MarshalJSONTo, UnmarshalJSONFrom and JSONSchema.
//
// Describe panics if T is a pointer. An invalid schema is an error of For.
func Describe[T any](text jsontext.Value) Option {
	t := reflect.TypeFor[T]()
	if t.Kind() == reflect.Pointer {
		panic(fmt.Sprintf("schema.Describe: %s is a pointer; want %s, whose pointers have the same schema", t, t.Elem()))
	}
	return Option{t, text.Clone()}
}

// givenSchemas returns the schemas of the options by their types.
func givenSchemas(opts []Option) (map[reflect.Type]jsontext.Value, error) {
	given := make(map[reflect.Type]jsontext.Value, len(opts))
	for _, o := range opts {
		switch {
		case o.typ == nil:
			return nil, errors.New("an option is empty; leave it out")
		case given[o.typ] != nil:
			return nil, fmt.Errorf("%s: option Describe is given twice", o.typ)
		case o.text.Kind() != '{' || !o.text.IsValid():
			return nil, fmt.Errorf("%s: option Describe: schema %s: want one JSON object", o.typ, jsonschema.Excerpt(string(o.text)))
		}
		if _, err := jsonschema.CompileStrict(o.text); err != nil {
			return nil, fmt.Errorf("%s: option Describe: %w", o.typ, err)
		}
		given[o.typ] = o.text
	}
	return given, nil
}
