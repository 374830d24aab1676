package uritemplate

import "strings"

// Values gives values to variables by name. Variables without a value are
// undefined, as are empty lists, and are left out.
type Values map[string]Value

// Value is the value of a variable: a string, a list of strings, or a list of
// pairs, which RFC 6570 calls an associative array. The zero Value is undefined.
type Value struct {
	kind  kind
	items []string // for pairs, each name before its value
}

type kind uint8

const (
	kindUndefined kind = iota
	kindString
	kindList
	kindPairs
)

// Pair is one entry of an associative array.
type Pair struct{ Name, Value string }

// String returns a Value that is a string.
func String(s string) Value { return Value{kind: kindString, items: []string{s}} }

// List returns a Value that is a list.
func List(items ...string) Value {
	if len(items) == 0 {
		return Value{}
	}
	return Value{kind: kindList, items: items}
}

// Pairs returns a Value that is an associative array in the given order.
func Pairs(entries ...Pair) Value {
	if len(entries) == 0 {
		return Value{}
	}
	v := Value{kind: kindPairs}
	for _, p := range entries {
		v.items = append(v.items, p.Name, p.Value)
	}
	return v
}

// String returns the string, or the items of any other value, joined by commas.
func (v Value) String() string { return strings.Join(v.items, ",") }

// Strings returns the items of a list, or only the string itself. The caller must not
// change them.
func (v Value) Strings() []string { return v.items }

// IsList reports whether the value is a list, as are the matched values of exploded
// variables.
func (v Value) IsList() bool { return v.kind == kindList }
