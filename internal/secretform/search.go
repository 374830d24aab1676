package secretform

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fondaco/fondaco/internal/secretname"
)

// search has what was found in a schema.
type search struct {
	fields map[string]*field // by name; fields of the same name count as one
	all    bool              // see Fields.All
	// titles are the texts of the form itself, and choices the values that can be chosen, with their texts. A choice is no
	// secret, but can say what belongs into another field.
	titles, choices []string
}

// field is what was found of a field, and in it.
type field struct{ secret, text, number bool }

// mark notes that a part asks for a secret, which belongs to a field or, if that is nil, to none.
func (s *search) mark(in *field) {
	if in == nil {
		s.all = true
		return
	}
	in.secret = true
}

// part searches a part of a schema, which is in a field unless that is nil. One that is too deep counts as a secret.
func (s *search) part(value any, depth int, in *field) {
	members, isObject := value.(map[string]any)
	elements, isArray := value.([]any)
	switch {
	case !isObject && !isArray:
		return
	case depth == maxDepth:
		s.mark(in)
		return
	}
	for _, element := range elements {
		s.part(element, depth+1, in)
	}
	for name, member := range members {
		if name == "properties" {
			s.properties(member, depth+1, in)
		} else {
			s.part(member, depth+1, in)
		}
	}
	if isObject {
		s.texts(members, depth, in)
	}
}

// texts searches what a part says of itself.
func (s *search) texts(members map[string]any, depth int, in *field) {
	texts := append(textsIn(members["title"]), textsIn(members["description"])...)
	s.choices = append(append(s.choices, textsIn(members["enum"])...), textsIn(members["enumNames"])...)
	constant, isChoice := members["const"]
	switch {
	case depth == 0:
		s.titles = texts
	case isChoice:
		s.choices = append(append(s.choices, texts...), textsIn(constant)...)
	case in != nil && in.secret: // as is known
	case inputOf(members, depth).isSecret(""): // a client may follow a reference, or a schema around another one, to these texts
		s.mark(in)
	}
}

// properties searches the fields of a form, or of a part of one, which clients find in an array, too.
func (s *search) properties(value any, depth int, in *field) {
	members, isObject := value.(map[string]any)
	elements, isArray := value.([]any)
	switch {
	case !isObject && !isArray:
		return
	case depth == maxDepth:
		s.mark(in)
		return
	case isArray: // by which name they are in an answer is not known
		members = make(map[string]any, len(elements))
		for i, element := range elements {
			members[strconv.Itoa(i)] = element
		}
	}
	for name, member := range members {
		f := in
		if f == nil {
			f = s.field(name)
		}
		if schema, ok := member.(map[string]any); ok {
			i := inputOf(schema, depth+1)
			f.secret = f.secret || i.isSecret(name)
			f.text, f.number = f.text || i.isText, f.number || i.isNumber
		} else {
			f.secret = f.secret || isSecretName(name)
			f.text = true // which is allowed, if it is a schema at all
		}
		s.part(member, depth+1, f)
		if isArray && f.secret {
			s.mark(in)
		}
	}
}

func (s *search) field(name string) *field {
	f := s.fields[name]
	if f == nil {
		f = new(field)
		s.fields[name] = f
	}
	return f
}

// form returns what the search has found.
func (s *search) form() *Form {
	f := new(Form)
	for name, one := range s.fields {
		if one.secret || s.all {
			f.secret.Names = append(f.secret.Names, name)
			continue
		}
		if one.text {
			f.hasText = true
			f.withTexts.Names = append(f.withTexts.Names, name)
		}
		if one.number {
			f.hasNumber = true
			f.withNumbers.Names = append(f.withNumbers.Names, name)
		}
	}
	f.secret.All = s.all
	f.withTexts.Names = append(f.withTexts.Names, f.secret.Names...)
	f.withNumbers.Names = append(f.withNumbers.Names, f.secret.Names...)
	for _, names := range [][]string{f.secret.Names, f.withTexts.Names, f.withNumbers.Names} {
		slices.Sort(names)
	}
	f.asksText, f.asksNumber = f.hasText && s.asks(secretname.Request), f.hasNumber && s.asks(secretname.Number)
	return f
}

// asks reports whether a text that belongs to no field asks for a secret.
func (s *search) asks(use secretname.Use) bool {
	return slices.ContainsFunc(s.titles, func(text string) bool { return asks(text, use) }) ||
		slices.ContainsFunc(s.choices, func(text string) bool { return describes(text, use) })
}

// input is what a form says of the input for a value. Invalid members count as absent.
type input struct {
	title, description, format string
	defaults                   []string
	isText                     bool // free text
	isAddress                  bool // of mail or of the web, in which a secret has a place, too
	isNumber                   bool
	isYesNo                    bool // which can say something about a secret, and is none
	writeOnly                  bool
}

func inputOf(members map[string]any, depth int) (i input) {
	text := func(name string) string {
		text, _ := members[name].(string)
		return text
	}
	i.title, i.description, i.format, i.defaults = text("title"), text("description"), text("format"), textsIn(members["default"])
	i.writeOnly, _ = members["writeOnly"].(bool)
	types := []string{text("type")}
	if _, isArray := members["type"].([]any); isArray {
		types = textsIn(members["type"])
	}
	is := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(types, name) })
	}
	chosen := isChoice(members)
	items, hasItems := members["items"].(map[string]any)
	i.isText = is("string", "") && !chosen && !slices.Contains([]string{"email", "uri", "date", "date-time"}, i.format) ||
		is("array") && hasItems && depth < maxDepth && inputOf(items, depth+1).isText
	i.isAddress = is("string", "") && !chosen && (i.format == "email" || i.format == "uri")
	i.isNumber = is("number", "integer") && !chosen
	i.isYesNo = slices.Equal(types, []string{"boolean"})
	return i
}

// isChoice reports whether a field offers nothing but values to choose from.
func isChoice(members map[string]any) bool {
	if values, _ := members["enum"].([]any); len(values) > 0 {
		return true
	}
	for _, name := range []string{"oneOf", "anyOf"} {
		options, _ := members[name].([]any)
		if len(options) > 0 && !slices.ContainsFunc(options, func(option any) bool {
			schema, _ := option.(map[string]any)
			_, isConstant := schema["const"]
			return !isConstant
		}) {
			return true
		}
	}
	return false
}

// isSecret reports whether the input of a name, which may be empty, asks for a secret.
func (i input) isSecret(name string) bool {
	return !i.isYesNo && (strings.EqualFold(i.format, "password") || i.writeOnly || isSecretName(name) || isSecretName(i.title) ||
		i.title != "" && secretname.Mean(secretname.TextWords(i.title), secretname.Field) || // as it is written: PaSsWoRd
		i.textAsks(i.description) || slices.ContainsFunc(i.defaults, i.textAsks))
}

func isSecretName(name string) bool {
	return name != "" && secretname.Mean(secretname.Words(name), secretname.Field)
}

// textAsks reports whether a text beside the input asks for a secret in it.
func (i input) textAsks(text string) bool {
	switch {
	case text == "":
		return false
	case i.isText:
		return describes(text, secretname.Request)
	case i.isNumber:
		return describes(text, secretname.Number)
	}
	return i.isAddress && asks(text, secretname.Request)
}

// textsIn returns a string, or those of an array. Other values have none.
func textsIn(value any) (texts []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, element := range v {
			if text, ok := element.(string); ok {
				texts = append(texts, text)
			}
		}
	}
	return texts
}
