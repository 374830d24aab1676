package jsonschema

import (
	"encoding/json/jsontext"
	"math/big"
)

// HasType reports whether a JSON text is of the JSON Schema type with the given
// name. Every text is of type "".
func HasType(v jsontext.Value, name string) bool {
	switch name {
	case "string":
		return v.Kind() == '"'
	case "number":
		return v.Kind() == '0' && CheckNumber(string(v)) == nil
	case "integer":
		return v.Kind() == '0' && CheckNumber(string(v)) == nil && Rat(v).IsInt()
	case "boolean":
		return v.Kind() == 't' || v.Kind() == 'f'
	case "array":
		return v.Kind() == '['
	case "object":
		return v.Kind() == '{'
	}
	return true
}

// Rat returns the exact value of a JSON number that CheckNumber accepts.
func Rat(v jsontext.Value) *big.Rat {
	r, _ := new(big.Rat).SetString(string(v))
	return r
}

// Article returns the name of a JSON Schema type with its article, for a
// sentence such as "want an integer".
func Article(name string) string {
	switch name {
	case "":
		return "a value of any type"
	case "integer", "array", "object":
		return "an " + name
	}
	return "a " + name
}
