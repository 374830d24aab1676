package mcpmodel

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// LowerSchema returns the schema as the API takes it for the arguments of a tool, with the
// options of a applied if strict mode can express it. Lowering a lowered schema changes
// nothing. The error says which bound or rule the schema violates.
func (a *API) LowerSchema(text jsontext.Value) (jsontext.Value, error) {
	l, err := a.lower(text)
	if err != nil {
		return nil, fmt.Errorf("%s: schema %w", a, err)
	}
	return l.text, nil
}

// lowered is a schema for the arguments of a tool, as an API takes it.
type lowered struct {
	text   jsontext.Value
	strict bool
	size   schemaSize
	// loose is the schema before strict mode required optional properties, or nil.
	loose *schema
}

func (a *API) lower(text jsontext.Value) (*lowered, error) {
	r := &schemaReader{document: text, open: make(map[string]bool)}
	s, err := readSchema(r)
	if err != nil {
		return nil, err
	}
	root := r.asObject(r.normal(s))
	if r.subschemas > maxSubschemas {
		return nil, errTooMany
	}
	if root == nil {
		return nil, errors.New("allows no object, want one for the arguments of a tool")
	}
	if strict := a.strict(); strict != nil {
		if l, err := lowerStrict(root, strict); err == nil {
			return l, nil
		}
	}
	fitted, err := fit(root, a.rules)
	if err != nil {
		return nil, err
	}
	written, err := write(fitted, a.rules)
	if err != nil {
		return nil, err
	}
	return &lowered{text: written, size: measure(fitted)}, nil
}

// fit returns s with what the rules do not take changed into notes, or left out.
func fit(s *schema, r *rules) (*schema, error) {
	if s.never {
		return &schema{}, nil
	}
	if s.anyOf != nil {
		return fitUnion(s, s.anyOf, r)
	}
	if branches := split(s, r); branches != nil {
		return fitUnion(&schema{
			title: s.title, description: s.description, notes: s.notes,
			defaultValue: s.defaultValue, examples: s.examples,
		}, branches, r)
	}
	n := *s
	n.notes = slices.Clone(s.notes)
	n.fitValues(r)
	n.fitBounds(s, r)
	if err := n.fitProps(s, r); err != nil {
		return nil, err
	}
	return &n, n.fitItems(s, r)
}

func fitUnion(s *schema, branches []*schema, r *rules) (*schema, error) {
	fitted := make([]*schema, 0, len(branches))
	for _, b := range branches {
		f, err := fit(b, r)
		if err != nil {
			return nil, err
		}
		fitted = append(fitted, f)
	}
	texts := *s
	texts.anyOf = nil
	if slices.ContainsFunc(fitted, (*schema).unconstrained) {
		fitted = nil
	}
	u := (&texts).union(fitted)
	u.fitTexts(r)
	return u, nil
}

// split returns the schemas of the single types of s if the API takes one type only, and of
// the values and null if null cannot be in its enums; otherwise nil.
func split(s *schema, r *rules) []*schema {
	var branches []*schema
	plain := slices.DeleteFunc(slices.Clone(s.types), func(t string) bool { return t == "null" })
	if null := slices.ContainsFunc(s.enum, isNull); null && !strings.Contains(r.enumKinds, "n") && len(s.enum) > 1 {
		values := *s.withoutTexts()
		values.types, values.isConst = plain, false
		values.enum = slices.DeleteFunc(slices.Clone(s.enum), isNull)
		return []*schema{&values, {types: []string{"null"}}}
	}
	if len(plain) < 2 || r.typeLists {
		return nil
	}
	for _, t := range s.types {
		branches = append(branches, s.only(t))
	}
	return branches
}

func (r *rules) takes(keyword string) bool { return slices.Contains(r.keywords, keyword) }

const maxNote = 200 // bytes of one note

func (s *schema) note(keyword, value string) {
	if len(value) <= maxNote {
		s.notes = append(s.notes, keyword+": "+value)
	}
}

// fitValues changes what says which single values are valid.
func (s *schema) fitValues(r *rules) {
	if slices.ContainsFunc(s.enum, func(v jsontext.Value) bool { return !strings.ContainsRune(r.enumKinds, rune(kindOf(v))) }) {
		texts := make([]string, len(s.enum))
		for i, v := range s.enum {
			texts[i] = string(v)
		}
		s.note("one of", strings.Join(texts, ", "))
		s.enum = nil
	}
	s.isConst = s.isConst && s.enum != nil && r.takes("const")
	if s.format != "" && (!r.takes("format") || r.formats != nil && !slices.Contains(r.formats, s.format)) {
		s.note("format", s.format)
		s.format = ""
	}
	if s.pattern != "" && !r.takes("pattern") {
		s.note("pattern", s.pattern)
		s.pattern = ""
	}
	s.fitTexts(r)
}

// fitTexts changes the annotations.
func (s *schema) fitTexts(r *rules) {
	if s.defaultValue != nil && !r.takes("default") {
		s.notes = slices.Clone(s.notes)
		s.note("default", string(s.defaultValue))
		s.defaultValue = nil
	}
	if !r.takes("examples") {
		s.examples = nil
	}
}

// kindOf returns the kind of a JSON value; false counts as true.
func kindOf(v jsontext.Value) jsontext.Kind {
	if v.Kind() == 'f' {
		return 't'
	}
	return v.Kind()
}

// fitBounds sets the bounds of s to those of from that the API takes.
func (s *schema) fitBounds(from *schema, r *rules) {
	s.bounds = nil
	for _, keyword := range boundKeywords {
		v, ok := from.bounds[keyword]
		switch {
		case !ok:
		case r.takes(keyword) && !(keyword == "minItems" && r.minItemsUpTo1 && string(v) != "0" && string(v) != "1"):
			s.setBound(keyword, v)
		default:
			s.note(keyword, string(v))
		}
	}
}

// fitProps sets the properties of s to those of from, fitted.
func (s *schema) fitProps(from *schema, r *rules) (err error) {
	s.props = nil
	for _, p := range from.props {
		if r.propertyName != nil && !r.propertyName.MatchString(p.name) {
			if p.required {
				return fmt.Errorf("requires the property %.64q, and the API takes only names like %s", p.name, r.propertyName)
			}
			continue
		}
		if p.schema, err = fit(p.schema, r); err != nil {
			return fmt.Errorf("%w (in %.64q)", err, p.name)
		}
		s.props = append(s.props, p)
	}
	if from.additional != nil && !from.additional.never {
		if s.additional, err = fit(from.additional, r); err == nil && s.additional.unconstrained() {
			s.additional = nil
		}
	}
	return err
}

// fitItems sets the items of s to those of from, fitted.
func (s *schema) fitItems(from *schema, r *rules) (err error) {
	if !slices.Contains(s.types, "array") {
		s.items, s.prefix = nil, nil
		return nil
	}
	items := from.items
	if items == nil {
		items = &schema{}
	}
	if from.prefix != nil && !r.takes("prefixItems") {
		all := append(slices.Clone(from.prefix), items)
		if items = (&schema{}).union(all); slices.ContainsFunc(all, (*schema).unconstrained) {
			items = &schema{}
		}
		s.prefix = nil
	}
	if s.items, err = fit(items, r); err != nil {
		return err
	}
	s.prefix = slices.Clone(s.prefix)
	for i, sub := range s.prefix {
		if s.prefix[i], err = fit(sub, r); err != nil {
			return err
		}
	}
	return nil
}
