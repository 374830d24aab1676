package mcpmodel

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// schemaReader reads a JSON Schema of any dialect into a schema. It inlines references and
// merges allOf, within the bounds of this package.
type schemaReader struct {
	document   jsontext.Value
	expanded   int             // bytes read
	subschemas int             // schemas read
	open       map[string]bool // references on the path to the current schema
	anchors    map[string]jsontext.Value
}

// readSchema reads the document of r.
func readSchema(r *schemaReader) (*schema, error) {
	if len(r.document) > maxSchemaText {
		return nil, fmt.Errorf("has %d bytes, want at most %d", len(r.document), maxSchemaText)
	}
	if !r.document.IsValid() {
		return nil, errors.New("is not valid JSON")
	}
	return r.read(r.document, 1)
}

// jsonMember is a member of a JSON object.
type jsonMember struct {
	name  string
	value jsontext.Value
}

// membersOf returns the members of a JSON object in order.
func membersOf(object jsontext.Value) ([]jsonMember, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return nil, fmt.Errorf("found %v, want an object", object.Kind())
	}
	var all []jsonMember
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		text := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		all = append(all, jsonMember{text, value.Clone()})
	}
	return all, nil
}

func member(all []jsonMember, name string) jsontext.Value {
	for _, m := range all {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// read reads a schema and everything inside it.
func (r *schemaReader) read(text jsontext.Value, depth int) (*schema, error) {
	r.subschemas++
	r.expanded += len(text)
	switch {
	case depth > maxSchemaDepth:
		return nil, errTooDeep
	case r.subschemas > maxSubschemas:
		return nil, errTooMany
	case r.expanded > maxExpanded:
		return nil, errTooLarge
	}
	switch text.Kind() {
	case 't':
		return &schema{}, nil
	case 'f':
		return &schema{never: true}, nil
	case '{':
	default:
		return nil, fmt.Errorf("has %s for a schema, want an object or a boolean", text.Kind())
	}
	all, err := membersOf(text)
	if err != nil {
		return nil, err
	}
	s := &schema{}
	for _, m := range all {
		if err := r.keyword(s, m, all, depth); err != nil {
			return nil, err
		}
	}
	if err := r.compose(s, all, depth); err != nil {
		return nil, err
	}
	finish(s, all)
	return s, nil
}

// keyword reads one keyword that describes the value by itself.
func (r *schemaReader) keyword(s *schema, m jsonMember, all []jsonMember, depth int) (err error) {
	switch m.name {
	case "type":
		s.types, err = readTypes(m.value)
	case "title":
		err = json.Unmarshal(m.value, &s.title)
	case "description":
		err = json.Unmarshal(m.value, &s.description)
	case "default":
		s.defaultValue = m.value
	case "examples":
		if m.value.Kind() == '[' {
			s.examples = m.value
		}
	case "enum":
		err = json.Unmarshal(m.value, &s.enum)
	case "const":
		s.enum, s.isConst = []jsontext.Value{m.value}, true
	case "format":
		err = json.Unmarshal(m.value, &s.format)
	case "pattern":
		err = json.Unmarshal(m.value, &s.pattern)
	case "properties":
		err = r.properties(s, m.value, depth)
	case "additionalProperties":
		s.additional, err = r.read(m.value, depth+1)
		if err == nil && (s.additional.unconstrained() || s.additional.never && member(all, "patternProperties") != nil) {
			s.additional = nil
		}
	case "items":
		if m.value.Kind() == '[' { // of draft-07
			s.prefix, err = r.list(m.value, depth)
			return wrap(m.name, err)
		}
		s.items, err = r.read(m.value, depth+1)
	case "prefixItems":
		s.prefix, err = r.list(m.value, depth)
	default:
		if of := boundTypes[m.name]; of != "" && (m.value.Kind() == '0' || m.name == "uniqueItems" && m.value.Kind() == 't') {
			s.setBound(m.name, m.value)
		}
	}
	return wrap(m.name, err)
}

// wrap adds the place to an error, except to those of the whole schema.
func wrap(place string, err error) error {
	if err == nil || errors.As(err, new(boundError)) {
		return err
	}
	return fmt.Errorf("%s: %w", place, err)
}

func readTypes(text jsontext.Value) ([]string, error) {
	var types []string
	err := json.Unmarshal(text, &types)
	if text.Kind() == '"' {
		types = make([]string, 1)
		err = json.Unmarshal(text, &types[0])
	}
	if err != nil {
		return nil, err
	}
	var unique []string
	for _, t := range types {
		if !slices.Contains(schemaTypes, t) {
			return nil, fmt.Errorf("found %.32q, want a type of JSON Schema", t)
		}
		if !slices.Contains(unique, t) {
			unique = append(unique, t)
		}
	}
	return unique, nil
}

// properties reads the properties and which of them are required; required names without a
// schema follow in finish.
func (r *schemaReader) properties(s *schema, text jsontext.Value, depth int) error {
	all, err := membersOf(text)
	if err != nil {
		return err
	}
	for _, m := range all {
		sub, err := r.read(m.value, depth+1)
		if err != nil {
			return wrap(fmt.Sprintf("%.64q", m.name), err)
		}
		s.props = append(s.props, property{name: m.name, schema: sub})
	}
	return nil
}

func (r *schemaReader) list(text jsontext.Value, depth int) ([]*schema, error) {
	var texts []jsontext.Value
	if err := json.Unmarshal(text, &texts); err != nil {
		return nil, err
	}
	list := make([]*schema, 0, len(texts))
	for _, t := range texts {
		sub, err := r.read(t, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, sub)
	}
	return list, nil
}

// compose reads the keywords that apply other schemas to the same value.
func (r *schemaReader) compose(s *schema, all []jsonMember, depth int) error {
	addRequired(s, member(all, "required"))
	for _, keyword := range []string{"$ref", "$dynamicRef"} {
		var ref string
		if text := member(all, keyword); text == nil || json.Unmarshal(text, &ref) != nil {
			continue
		}
		target, err := r.reference(ref, depth)
		if err != nil {
			return wrap(fmt.Sprintf("%s %.100q", keyword, ref), err)
		}
		*s = *r.merge(s, target)
	}
	if text := member(all, "allOf"); text != nil {
		parts, err := r.list(text, depth)
		if err != nil {
			return wrap("allOf", err)
		}
		for _, part := range parts {
			*s = *r.merge(s, part)
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		text := member(all, keyword)
		if text == nil {
			continue
		}
		branches, err := r.list(text, depth)
		if err != nil {
			return wrap(keyword, err)
		}
		*s = *r.merge(s, &schema{anyOf: branches})
	}
	if r.subschemas > maxSubschemas {
		return errTooMany
	}
	return nil
}

// addRequired marks properties as required, and adds those that have no schema.
func addRequired(s *schema, text jsontext.Value) {
	var names []string
	if text == nil || json.Unmarshal(text, &names) != nil {
		return
	}
	for _, name := range names {
		if p := s.prop(name); p != nil {
			p.required = true
		} else {
			s.props = append(s.props, property{name, &schema{}, true})
		}
	}
}

// finish infers what the keywords of s mean together.
func finish(s *schema, all []jsonMember) {
	var nullable bool
	if text := member(all, "nullable"); text != nil { // of OpenAPI 3.0
		_ = json.Unmarshal(text, &nullable)
	}
	if nullable {
		*s = *s.withNull()
	}
	inferType(s)
}

// inferType sets a missing type from the other keywords.
func inferType(s *schema) {
	switch {
	case s.types != nil || s.anyOf != nil || s.never:
	case s.enum != nil:
		for _, v := range s.enum {
			if t := typeOf(v); !slices.Contains(s.types, t) {
				s.types = append(s.types, t)
			}
		}
	case s.additional != nil || slices.ContainsFunc(s.props, func(p property) bool { return !p.schema.unconstrained() }):
		s.types = []string{"object"}
	case s.items != nil || s.prefix != nil:
		s.types = []string{"array"}
	}
}

// reference reads the schema that a reference names.
func (r *schemaReader) reference(ref string, depth int) (*schema, error) {
	target, err := r.resolve(ref)
	if err != nil {
		return nil, err
	}
	if r.open[ref] {
		return cut(target), nil
	}
	r.open[ref] = true
	defer delete(r.open, ref)
	return r.read(target, depth+1)
}

// cut returns what is kept of a schema where it would repeat: its type and its texts.
func cut(target jsontext.Value) *schema {
	s := &schema{}
	all, err := membersOf(target)
	if err != nil {
		return s
	}
	if text := member(all, "type"); text != nil {
		s.types, _ = readTypes(text)
	} else if member(all, "properties") != nil {
		s.types = []string{"object"}
	}
	if text := member(all, "description"); text != nil {
		_ = json.Unmarshal(text, &s.description)
	}
	return s
}

// resolve finds the text that a reference names in the document.
func (r *schemaReader) resolve(ref string) (jsontext.Value, error) {
	address, fragment, _ := strings.Cut(ref, "#")
	if address != "" {
		return nil, errors.New("is outside of the schema, want one that begins with #")
	}
	name, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, errors.New("is not a URI reference")
	}
	if name != "" && name[0] != '/' {
		return r.anchor(name)
	}
	value := r.document
	for _, token := range strings.Split(name, "/")[1:] {
		r.expanded += len(value)
		if r.expanded > maxExpanded {
			return nil, errTooLarge
		}
		if value = child(value, strings.NewReplacer("~1", "/", "~0", "~").Replace(token)); value == nil {
			return nil, errors.New("names nothing in the schema")
		}
	}
	return value, nil
}

// child returns a member of an object or an element of an array, or nil.
func child(value jsontext.Value, token string) jsontext.Value {
	switch value.Kind() {
	case '{':
		all, err := membersOf(value)
		if err != nil {
			return nil
		}
		return member(all, token)
	case '[':
		var elements []jsontext.Value
		i, err := strconv.Atoi(token)
		if err != nil || json.Unmarshal(value, &elements) != nil || i < 0 || i >= len(elements) {
			return nil
		}
		return elements[i]
	}
	return nil
}

// anchor finds a schema by its $anchor. It reads the document once.
func (r *schemaReader) anchor(name string) (jsontext.Value, error) {
	if r.anchors == nil {
		r.anchors = make(map[string]jsontext.Value)
		r.findAnchors(r.document, 1)
	}
	if found := r.anchors[name]; found != nil {
		return found, nil
	}
	return nil, errors.New("names nothing in the schema")
}

func (r *schemaReader) findAnchors(value jsontext.Value, depth int) {
	r.expanded += len(value)
	if depth > 2*maxSchemaDepth || r.expanded > maxExpanded {
		return
	}
	switch value.Kind() {
	case '{':
		all, _ := membersOf(value)
		for _, m := range all {
			var name string
			if (m.name == "$anchor" || m.name == "$dynamicAnchor") && json.Unmarshal(m.value, &name) == nil {
				r.anchors[name] = value
			}
			r.findAnchors(m.value, depth+1)
		}
	case '[':
		var elements []jsontext.Value
		_ = json.Unmarshal(value, &elements)
		for _, e := range elements {
			r.findAnchors(e, depth+1)
		}
	}
}
