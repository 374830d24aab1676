package mcpmodel

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"
)

var errNotStrict = errors.New("cannot be expressed in strict mode")

// lowerStrict lowers a schema for strict mode. It fails if strict mode cannot express it.
func lowerStrict(root *schema, r *rules) (*lowered, error) {
	loose, err := fit(root, r)
	if err != nil {
		return nil, err
	}
	strict, err := strictly(loose, r)
	if err != nil {
		return nil, err
	}
	text, err := write(strict, r)
	if err != nil {
		return nil, err
	}
	l := &lowered{text: text, strict: true, size: measure(strict)}
	if r.allRequired {
		l.loose = loose
	}
	return l, nil
}

// strictly returns s with closed objects and, where the rules say so, all properties required.
func strictly(s *schema, r *rules) (_ *schema, err error) {
	if s.never || s.types == nil && s.enum == nil && s.anyOf == nil {
		return nil, fmt.Errorf("%w: it has values of any type", errNotStrict)
	}
	n := *s
	n.anyOf = slices.Clone(s.anyOf)
	for i, b := range s.anyOf {
		if n.anyOf[i], err = strictly(b, r); err != nil {
			return nil, err
		}
	}
	if slices.Contains(s.types, "array") {
		if n.items, err = strictly(s.items, r); err != nil {
			return nil, err
		}
	}
	if !slices.Contains(s.types, "object") {
		return &n, nil
	}
	if s.additional != nil && !s.closed() || s.props == nil && !s.closed() {
		return nil, fmt.Errorf("%w: it has objects of any property names", errNotStrict)
	}
	n.additional = &schema{never: true}
	if n.props == nil {
		n.props = []property{}
	}
	n.props = slices.Clone(n.props)
	for i, p := range s.props {
		if n.props[i].schema, err = strictly(p.schema, r); err != nil {
			return nil, err
		}
		if r.allRequired && !p.required {
			n.props[i].schema, n.props[i].required = n.props[i].schema.withNull(), true
		}
	}
	return &n, nil
}

// dropNulls removes the members with null from objects for which strict mode required a
// property that is optional in the schema, and does not allow null there.
func dropNulls(value jsontext.Value, s *schema) jsontext.Value {
	if !bytes.Contains(value, []byte("null")) {
		return value
	}
	switch value.Kind() {
	case '{':
		return dropMembers(value, objectOf(value, s))
	case '[':
		return dropInElements(value, itemsOf(s))
	}
	return value
}

func dropMembers(value jsontext.Value, s *schema) jsontext.Value {
	all, err := membersOf(value)
	if err != nil || s == nil {
		return value
	}
	out := []byte{'{'}
	for _, m := range all {
		p := s.prop(m.name)
		if p != nil && isNull(m.value) && !p.required && !p.schema.allowsNull() {
			continue
		}
		if p != nil {
			m.value = dropNulls(m.value, p.schema)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		if out, err = jsontext.AppendQuote(out, m.name); err != nil {
			return value
		}
		out = append(append(out, ':'), m.value...)
	}
	return append(out, '}')
}

func dropInElements(value jsontext.Value, items *schema) jsontext.Value {
	var elements []jsontext.Value
	if items == nil || json.Unmarshal(value, &elements) != nil {
		return value
	}
	for i := range elements {
		elements[i] = dropNulls(elements[i], items)
	}
	text, err := json.Marshal(elements)
	if err != nil {
		return value
	}
	return text
}

// objectOf returns the schema of an object: s, or the first branch that knows all its members
// and whose required members are not null.
func objectOf(value jsontext.Value, s *schema) *schema {
	if s.anyOf == nil {
		return s
	}
	all, err := membersOf(value)
	if err != nil {
		return nil
	}
	for _, b := range s.anyOf {
		known := !slices.ContainsFunc(all, func(m jsonMember) bool {
			p := b.prop(m.name)
			return p == nil || isNull(m.value) && p.required && !p.schema.allowsNull() ||
				p.schema.enum != nil && !isNull(m.value) && !slices.ContainsFunc(p.schema.enum, func(v jsontext.Value) bool { return equalValues(v, m.value) })
		})
		complete := !slices.ContainsFunc(b.props, func(p property) bool { return p.required && member(all, p.name) == nil })
		if known && complete && slices.Contains(b.types, "object") {
			return b
		}
	}
	return nil
}

func itemsOf(s *schema) *schema {
	if s.items != nil {
		return s.items
	}
	for _, b := range s.anyOf {
		if b.items != nil {
			return b.items
		}
	}
	return nil
}
