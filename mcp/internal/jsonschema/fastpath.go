package jsonschema

import (
	"encoding/json/jsontext"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// fastSchema is one subschema in a form that is checked on the text of a value. It
// supports the common keywords and only accepts values: a schema with any other
// keyword, and a value that it does not accept, are left to the library, which
// decides.
type fastSchema struct {
	types    kinds
	enum     []string // texts of strings, nil for no enum
	length   span     // characters of a string
	pattern  *pattern
	number   span
	size     span // elements of an array
	items    *fastSchema
	props    map[string]fastProperty
	required int  // how many properties are
	closed   bool // no other properties
	costly   bool // holds patterns, here or below
}

// maxCostly bounds a value that is checked against patterns here, in bytes. A
// longer one is left to the library, with a budget.
const maxCostly = 16 << 10

type fastProperty struct {
	*fastSchema
	required bool
}

// kinds are the types that a schema allows.
type kinds uint8

const (
	kindNull kinds = 1 << iota
	kindBoolean
	kindString
	kindInteger
	kindNumber
	kindArray
	kindObject
	anyKind = kindNull | kindBoolean | kindString | kindNumber | kindArray | kindObject
)

var kindsByName = map[string]kinds{
	"null": kindNull, "boolean": kindBoolean, "string": kindString, "integer": kindInteger,
	"number": kindNumber, "array": kindArray, "object": kindObject,
}

// span is a range with its ends.
type span struct{ min, max float64 }

var everything = span{math.Inf(-1), math.Inf(1)}

func (s span) holds(n float64) bool { return s.min <= n && n <= s.max }

// silent are keywords that say nothing about which values are valid.
var silent = []string{
	"$schema", "$comment", "$defs", "definitions", "title", "description", "default", "examples",
	"deprecated", "readOnly", "writeOnly", "contentEncoding", "x-mcp-header",
}

// newFastSchema returns nil for a schema with a keyword that it does not know.
func newFastSchema(doc any) *fastSchema {
	keys, ok := doc.(map[string]any)
	if !ok {
		if doc == true {
			return &fastSchema{types: anyKind, length: everything, number: everything, size: everything}
		}
		return nil
	}
	q := &fastSchema{types: anyKind, length: everything, number: everything, size: everything}
	for key, value := range keys {
		if !slices.Contains(silent, key) && !q.take(key, value) {
			return nil
		}
	}
	return q.require(keys["required"])
}

// take reads one keyword.
func (q *fastSchema) take(key string, value any) (ok bool) {
	switch key {
	case "type":
		q.types, ok = typesOf(value)
	case "enum":
		q.enum, ok = stringsOf(value)
	case "pattern":
		expr, _ := value.(string)
		q.pattern, ok = fastPattern(expr)
		q.costly = true
	case "minLength":
		q.length.min, ok = bound(value)
	case "maxLength":
		q.length.max, ok = bound(value)
	case "minimum":
		q.number.min, ok = bound(value)
	case "maximum":
		q.number.max, ok = bound(value)
	case "minItems":
		q.size.min, ok = bound(value)
	case "maxItems":
		q.size.max, ok = bound(value)
	case "items":
		q.items = newFastSchema(value)
		ok = q.items != nil
		q.costly = q.costly || ok && q.items.costly
	case "properties":
		ok = q.takeProperties(value)
	case "additionalProperties":
		q.closed, ok = value == false, value == true || value == false
	case "required":
		ok = true // read when the properties are known
	}
	return ok
}

func (q *fastSchema) takeProperties(value any) bool {
	props, ok := value.(map[string]any)
	q.props = make(map[string]fastProperty, len(props))
	for name, schema := range props {
		p := newFastSchema(schema)
		q.props[name] = fastProperty{fastSchema: p}
		q.costly = q.costly || p != nil && p.costly
	}
	return ok
}

// require marks the required properties. One that the schema does not describe is
// beyond it.
func (q *fastSchema) require(value any) *fastSchema {
	if value == nil {
		return q
	}
	names, ok := stringsOf(value)
	for _, name := range names {
		p, known := q.props[name]
		if !known || p.required {
			return nil
		}
		p.required = true
		q.props[name] = p
		q.required++
	}
	if !ok {
		return nil
	}
	return q
}

func typesOf(value any) (all kinds, ok bool) {
	if name, single := value.(string); single {
		all, ok = kindsByName[name]
		return all, ok
	}
	names, ok := stringsOf(value)
	for _, name := range names {
		all |= kindsByName[name]
	}
	return all, ok
}

func stringsOf(value any) (texts []string, ok bool) {
	values, ok := value.([]any)
	for _, v := range values {
		text, isString := v.(string)
		texts, ok = append(texts, text), ok && isString
	}
	return texts, ok
}

func fastPattern(expr string) (*pattern, bool) {
	p, err := compilePattern(expr)
	return p, err == nil
}

// bound reads a whole number that a float64 holds exactly.
func bound(value any) (float64, bool) {
	text, ok := numberText(value)
	if !ok {
		return 0, false
	}
	n, ok := exactInteger([]byte(text))
	return float64(n), ok
}

// exactInteger reads an integer in digits alone that every float64 holds exactly.
func exactInteger(text []byte) (int64, bool) {
	const maxDigits = 15
	if len(text) > maxDigits {
		return 0, false
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, err == nil
}

// admits reports that a value, which has to be strict JSON, satisfies the schema.
func (q *fastSchema) admits(v jsontext.Value) bool {
	if q == nil || len(v) == 0 {
		return false
	}
	switch v.Kind() {
	case 'n':
		return q.types&kindNull != 0 && q.enum == nil
	case 't', 'f':
		return q.types&kindBoolean != 0 && q.enum == nil
	case '"':
		return q.types&kindString != 0 && q.admitsString(v)
	case '0':
		return q.enum == nil && q.admitsNumber(v)
	case '[':
		return q.types&kindArray != 0 && q.enum == nil && q.admitsArray(v)
	case '{':
		return q.types&kindObject != 0 && q.enum == nil && q.admitsObject(v)
	}
	return false
}

func (q *fastSchema) admitsString(v jsontext.Value) bool {
	if q.enum == nil && q.pattern == nil && q.length == everything {
		return true
	}
	text := rawjson.Unquote(v)
	if q.enum != nil && !slices.ContainsFunc(q.enum, func(s string) bool { return s == string(text) }) {
		return false
	}
	if q.length != everything && !q.length.holds(float64(utf8.RuneCount(text))) {
		return false
	}
	return q.pattern == nil || q.pattern.Match(text)
}

func (q *fastSchema) admitsNumber(v jsontext.Value) bool {
	if n, ok := exactInteger(v); ok {
		return q.types&(kindInteger|kindNumber) != 0 && q.number.holds(float64(n))
	}
	return q.types&kindNumber != 0 && q.number == everything && CheckNumber(string(v)) == nil
}

func (q *fastSchema) admitsArray(v jsontext.Value) bool {
	n := 0
	for element := range rawjson.Elements(v) {
		if q.items != nil && !q.items.admits(element) {
			return false
		}
		n++
	}
	return q.size.holds(float64(n))
}

func (q *fastSchema) admitsObject(v jsontext.Value) bool {
	found := 0
	for name, value := range rawjson.Members(v) {
		p, known := q.props[string(name)]
		switch {
		case known && !p.admits(value), !known && q.closed:
			return false
		case known && p.required:
			found++
		}
	}
	return found == q.required
}
