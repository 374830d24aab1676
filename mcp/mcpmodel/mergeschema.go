package mcpmodel

import (
	"bytes"
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// merge returns a schema for the values that satisfy both a and b. Where their keywords cannot
// be combined into one, that of a is kept, so the result may allow more.
func (r *schemaReader) merge(a, b *schema) *schema {
	r.subschemas++
	m := *a
	m.never = a.never || b.never
	m.title = cmp.Or(a.title, b.title)
	m.description = cmp.Or(a.description, b.description)
	m.notes = slices.Concat(a.notes, b.notes)
	if a.defaultValue == nil {
		m.defaultValue = b.defaultValue
	}
	if a.examples == nil {
		m.examples = b.examples
	}
	m.format, m.pattern = cmp.Or(a.format, b.format), cmp.Or(a.pattern, b.pattern)
	m.mergeTypes(b)
	m.mergeEnum(b)
	m.mergeBounds(b)
	m.props = r.mergeProps(a.props, b.props)
	m.additional = r.mergeSub(a.additional, b.additional)
	m.items = r.mergeSub(a.items, b.items)
	if a.prefix == nil {
		m.prefix = b.prefix
	}
	if a.anyOf == nil {
		m.anyOf = b.anyOf
	}
	return &m
}

func (r *schemaReader) mergeSub(a, b *schema) *schema {
	switch {
	case a == nil || r.subschemas > maxSubschemas:
		return b
	case b == nil:
		return a
	}
	return r.merge(a, b)
}

func (r *schemaReader) mergeProps(a, b []property) []property {
	merged := slices.Clone(a)
	for _, p := range b {
		i := slices.IndexFunc(merged, func(q property) bool { return q.name == p.name })
		if i < 0 {
			merged = append(merged, p)
			continue
		}
		merged[i].required = merged[i].required || p.required
		merged[i].schema = r.mergeSub(merged[i].schema, p.schema)
	}
	return merged
}

// mergeTypes keeps the types that b has, too. Integers are numbers.
func (s *schema) mergeTypes(b *schema) {
	if s.types == nil || b.types == nil {
		s.types = slices.Concat(s.types, b.types)
		return
	}
	var both []string
	for _, t := range s.types {
		switch {
		case slices.Contains(b.types, t), t == "integer" && slices.Contains(b.types, "number"):
			both = append(both, t)
		case t == "number" && slices.Contains(b.types, "integer"):
			both = append(both, "integer")
		}
	}
	s.types = both
	s.never = s.never || both == nil
}

// mergeEnum keeps the values that b has, too.
func (s *schema) mergeEnum(b *schema) {
	if s.enum == nil || b.enum == nil {
		if s.enum == nil {
			s.enum, s.isConst = b.enum, b.isConst
		}
		return
	}
	var both []jsontext.Value
	for _, v := range s.enum {
		if slices.ContainsFunc(b.enum, func(w jsontext.Value) bool { return equalValues(v, w) }) {
			both = append(both, v)
		}
	}
	s.enum, s.isConst = both, len(both) == 1 && (s.isConst || b.isConst)
	s.never = s.never || both == nil
}

func equalValues(a, b jsontext.Value) bool {
	if bytes.Equal(a, b) {
		return true
	}
	a, b = a.Clone(), b.Clone()
	return a.Canonicalize() == nil && b.Canonicalize() == nil && bytes.Equal(a, b)
}

// mergeBounds keeps the tighter bounds.
func (s *schema) mergeBounds(b *schema) {
	s.bounds = maps.Clone(s.bounds)
	for keyword, v := range b.bounds {
		own, ok := s.bounds[keyword]
		var x, y float64
		switch {
		case !ok:
			s.setBound(keyword, v)
		case json.Unmarshal(own, &x) != nil || json.Unmarshal(v, &y) != nil:
		case strings.HasPrefix(strings.ToLower(strings.TrimPrefix(keyword, "exclusive")), "min") && y > x,
			strings.HasPrefix(strings.ToLower(strings.TrimPrefix(keyword, "exclusive")), "max") && y < x:
			s.setBound(keyword, v)
		}
	}
}

// normal returns s in a form in which a schema with anyOf has texts beside it, and no other
// keywords.
func (r *schemaReader) normal(s *schema) *schema {
	r.subschemas++
	if s.never || r.subschemas > maxSubschemas {
		return s
	}
	n := *s
	n.props = nil
	for _, p := range s.props {
		if p.schema = r.normal(p.schema); p.schema.never {
			if !p.required {
				continue
			}
			p.schema = &schema{}
		}
		n.props = append(n.props, p)
	}
	if s.additional != nil {
		n.additional = r.normal(s.additional)
	}
	if s.items != nil {
		n.items = r.possible(s.items)
	}
	if s.prefix != nil {
		n.prefix = make([]*schema, len(s.prefix))
		for i, sub := range s.prefix {
			n.prefix[i] = r.possible(sub)
		}
	}
	if s.anyOf != nil {
		return r.normalUnion(&n)
	}
	n.alignTypes()
	return &n
}

// alignTypes brings the keywords of s, which has no anyOf, in line with its types.
func (s *schema) alignTypes() {
	inferType(s)
	s.prune()
	if s.enum == nil {
		return
	}
	s.enum = slices.DeleteFunc(slices.Clone(s.enum), func(v jsontext.Value) bool {
		return !slices.ContainsFunc(s.types, func(t string) bool { return hasType(v, t) })
	})
	s.never = len(s.enum) == 0
}

// possible returns a schema in its normal form, and that of all values instead of that of
// none: without items and prefixItems an array is empty, which no API can say.
func (r *schemaReader) possible(s *schema) *schema {
	if s = r.normal(s); s.never {
		return &schema{}
	}
	return s
}

// normalUnion moves the constraints of s beside anyOf into its branches. Branches that only
// require properties become a note.
func (r *schemaReader) normalUnion(s *schema) *schema {
	own := s.withoutTexts()
	own.anyOf = nil
	plain := *s
	plain.anyOf = nil
	if plain.alignTypes(); plain.never {
		return &plain
	}
	if !own.unconstrained() && slices.ContainsFunc(s.anyOf, func(b *schema) bool { return !b.never && !b.shaped() }) {
		plain.notes = append(slices.Clone(s.notes), requiredNote(s.anyOf)...)
		return &plain
	}
	var branches []*schema
	for _, b := range s.anyOf {
		if !own.unconstrained() {
			b = r.merge(b, own)
		}
		if b = r.normal(b); b.unconstrained() {
			return &plain
		}
		branches = append(branches, b)
	}
	return plain.union(branches)
}

// union returns s, which has texts and no constraints of its own if branches are left, with
// the branches as its anyOf.
func (s *schema) union(branches []*schema) *schema {
	var flat []*schema
	for _, b := range branches {
		inner := []*schema{b}
		if b.anyOf != nil && b.title == "" && b.description == "" && b.notes == nil && b.defaultValue == nil && b.examples == nil {
			inner = b.anyOf
		}
		for _, one := range inner {
			if !one.never && !slices.ContainsFunc(flat, func(o *schema) bool { return reflect.DeepEqual(o, one) }) {
				flat = append(flat, one)
			}
		}
	}
	u := *s
	switch len(flat) {
	case 0:
		return &u
	case 1:
		u = *flat[0]
		u.title, u.description = cmp.Or(s.title, u.title), cmp.Or(s.description, u.description)
		u.notes = slices.Concat(u.notes, s.notes)
		if s.defaultValue != nil {
			u.defaultValue = s.defaultValue
		}
		if s.examples != nil {
			u.examples = s.examples
		}
		return &u
	}
	return &schema{
		title: s.title, description: s.description, notes: s.notes,
		defaultValue: s.defaultValue, examples: s.examples, anyOf: flat,
	}
}

// requiredNote says which properties the branches of a union require.
func requiredNote(branches []*schema) []string {
	var sets []string
	for _, b := range branches {
		var names []string
		for _, p := range b.props {
			if p.required {
				names = append(names, p.name)
			}
		}
		if names == nil {
			return nil
		}
		sets = append(sets, strings.Join(names, " and "))
	}
	slices.Sort(sets)
	if sets = slices.Compact(sets); len(sets) < 2 {
		return nil
	}
	return []string{"requires one of: " + strings.Join(sets, ", ")}
}

// asObject returns the schema of the objects that satisfy s, without a union at its root, or
// nil if there are none.
func (r *schemaReader) asObject(s *schema) *schema {
	if s.never {
		return nil
	}
	if s.anyOf == nil {
		if s.types != nil && !slices.Contains(s.types, "object") {
			return nil
		}
		root := s.only("object")
		root.enum, root.never, root.types = nil, false, []string{"object"}
		root.props, root.additional = s.props, s.additional
		root.title, root.description, root.notes = s.title, s.description, s.notes
		root.defaultValue, root.examples = s.defaultValue, s.examples
		return root
	}
	var objects []*schema
	for _, b := range s.anyOf {
		if o := r.asObject(b); o != nil {
			objects = append(objects, o)
		}
	}
	if objects == nil {
		return nil
	}
	root := unionOfObjects(objects)
	root.title, root.description = s.title, s.description
	root.notes = slices.Concat(s.notes, requiredNote(objects))
	root.defaultValue, root.examples = s.defaultValue, s.examples
	return root
}

// unionOfObjects returns one schema for the values of several schemas of objects.
func unionOfObjects(objects []*schema) *schema {
	all := &schema{types: []string{"object"}, additional: objects[0].additional}
	for _, o := range objects {
		if !reflect.DeepEqual(o.additional, all.additional) {
			all.additional = nil
		}
		for _, p := range o.props {
			q := all.prop(p.name)
			if q == nil {
				all.props = append(all.props, property{p.name, p.schema, true})
				continue
			}
			if q.schema.unconstrained() || p.schema.unconstrained() {
				q.schema = &schema{description: cmp.Or(q.schema.description, p.schema.description)}
			} else if !reflect.DeepEqual(q.schema, p.schema) {
				q.schema = (&schema{}).union([]*schema{q.schema, p.schema})
			}
		}
	}
	for i, q := range all.props {
		for _, o := range objects {
			p := o.prop(q.name)
			all.props[i].required = all.props[i].required && p != nil && p.required
		}
	}
	return all
}
