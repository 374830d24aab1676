package uritemplate

import (
	"cmp"
	"slices"
	"strings"
)

// capture is the part of the URI that one state has read as a value.
type capture struct {
	*state
	text string
}

// binding is the value of one variable in one expression.
type binding struct {
	variable *variable
	value    Value
}

// bind assigns every variable its value; ok is false if one would have two
// different values.
func bind(captures []capture) (values Values, ok bool) {
	bindings := decodeAll(captures)
	// Assign whole values first, then long prefixes, so that each later value
	// of a variable can be derived from the first.
	slices.SortStableFunc(bindings, func(a, b binding) int {
		return cmp.Compare(b.variable.maxLength(), a.variable.maxLength())
	})
	values = make(Values, len(bindings))
	for _, b := range bindings {
		first, seen := values[b.variable.name]
		if seen && !b.agrees(first) {
			return nil, false
		}
		if !seen {
			values[b.variable.name] = b.value
		}
	}
	return values, true
}

// agrees reports whether the variable expands to this text with the value that it has in
// another expression.
func (b binding) agrees(elsewhere Value) bool {
	return b.value.kind == elsewhere.kind && slices.EqualFunc(b.value.items, elsewhere.items, func(item, whole string) bool {
		return item == prefix(whole, b.variable.prefix)
	})
}

// maxLength returns the maximum number of characters of a value that the variable
// expands to.
func (v *variable) maxLength() int {
	if v.prefix == 0 {
		return maxPrefix + 1
	}
	return v.prefix
}

// decodeAll decodes the captures. Consecutive captures of the same variable are the items
// of a list.
func decodeAll(captures []capture) []binding {
	var bindings []binding
	for _, c := range captures {
		value := c.decode()
		last := len(bindings) - 1
		if last >= 0 && bindings[last].variable == c.variable {
			bindings[last].value.items = append(bindings[last].value.items, value.items...)
			continue
		}
		bindings = append(bindings, binding{c.variable, value})
	}
	return bindings
}

func (c capture) decode() Value {
	operator := c.expression.operator
	switch {
	case !c.variable.explode:
		return String(decode(c.text))
	case operator.named:
		return List(decode(c.text))
	}
	items := strings.Split(c.text, operator.separator)
	for i, item := range items {
		items[i] = decode(item)
	}
	return List(items...)
}
