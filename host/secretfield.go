package host

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fondaco/fondaco/internal/secretname"
	"github.com/fondaco/fondaco/mcp"
)

// SecretField returns the name of a field of a form that asks for a secret, or "": by the name,
// the title, the description, the default or the format of the field, also if letters that look alike or
// characters that are not shown disguise it. If only the message of the form asks for one, its own title
// or description, or what can be chosen in another field, that is its first text field, or its first number. Fields
// count at any place of the schema: a client may show more than the protocol allows.
//
// Spec: 2026-07-28 client/elicitation#security-considerations
func SecretField(p *mcp.ElicitParams) string {
	if all := SecretFields(p); len(all) > 0 {
		return all[0]
	}
	return ""
}

// SecretFields returns the names of the fields that SecretField finds, among them all fields of the form itself. What a
// user fills in there is not shown again.
func SecretFields(p *mcp.ElicitParams) []string {
	var s formSearch
	s.search(p.RequestedSchema, 0)
	switch {
	case len(s.texts) > 0 && s.asks(p.Message, secretname.Request):
		return append(s.secrets, s.texts...)
	case len(s.numbers) > 0 && s.asks(p.Message, secretname.Number):
		return append(s.secrets, s.numbers...)
	}
	return s.secrets
}

// asksForSecret reports whether a message asks for a secret. A password in another language counts
// wherever it is named.
func asksForSecret(message string, use secretname.Use) bool {
	all := textWords(message)
	return secretname.Asks(all, use) || nameForeignPassword(all)
}

// describesSecret reports whether a text beside the input for a value means a secret, or asks for one.
func describesSecret(text string, use secretname.Use) bool {
	return meanSecret(textWords(text), secretname.Text) || asksForSecret(text, use)
}

// formSearch has what was found in a schema.
type formSearch struct {
	secrets        []string // the names of fields that ask for a secret
	texts, numbers []string // the names of the others
	titles         []string // the texts of the form itself
	choices        []string // the values that can be chosen, and their texts
}

// asks reports whether a form with a message asks for a secret beside its fields. A choice is no secret, but can say
// what belongs into another field.
func (s *formSearch) asks(message string, use secretname.Use) bool {
	return slices.ContainsFunc(append(s.titles, message), func(text string) bool { return asksForSecret(text, use) }) ||
		slices.ContainsFunc(s.choices, func(text string) bool { return describesSecret(text, use) })
}

// maxFormDepth limits the values around a field. Forms of the protocol have two.
const maxFormDepth = 8

// search finds the fields in a part of a schema. One that is too deep counts as a secret.
func (s *formSearch) search(raw jsontext.Value, depth int) {
	var members map[string]jsontext.Value
	var elements []jsontext.Value
	switch kind := raw.Kind(); {
	case kind != '{' && kind != '[' || len(s.secrets) > 0:
	case depth == maxFormDepth:
		s.secrets = append(s.secrets, "…")
	case kind == '[' && json.Unmarshal(raw, &elements) == nil:
		for _, element := range elements {
			s.search(element, depth+1)
		}
	case kind == '{' && json.Unmarshal(raw, &members) == nil:
		s.properties(members["properties"])
		for _, member := range members {
			s.search(member, depth+1)
		}
		s.choices = append(s.choices, slices.Concat(textsIn(members["enum"]), textsIn(members["enumNames"]))...)
		switch texts := slices.Concat(textsIn(members["title"]), textsIn(members["description"])); {
		case depth == 0:
			s.titles = texts
		case members["const"] != nil:
			s.choices = append(append(s.choices, texts...), textsIn(members["const"])...)
		case readFormField(raw).isSecret(""): // a client may follow a reference, or a schema around another one, to these texts
			s.secrets = append(s.secrets, "…")
		}
	}
}

// textsIn returns a string, or those of an array. Other values count as absent.
func textsIn(raw jsontext.Value) (texts []string) {
	var text string
	var elements []jsontext.Value
	switch raw.Kind() {
	case '"':
		_ = json.Unmarshal(raw, &text)
		return []string{text}
	case '[':
		_ = json.Unmarshal(raw, &elements)
		for _, element := range elements {
			if element.Kind() == '"' {
				texts = append(texts, textsIn(element)...)
			}
		}
	}
	return texts
}

// properties examines the fields of a form, which clients find in an array, too.
func (s *formSearch) properties(raw jsontext.Value) {
	fields := make(map[string]jsontext.Value)
	var elements []jsontext.Value
	if raw.Kind() == '[' && json.Unmarshal(raw, &elements) == nil {
		for i, element := range elements {
			fields[strconv.Itoa(i)] = element
		}
	} else if json.Unmarshal(raw, &fields) != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field := readFormField(fields[name])
		switch {
		case field.isSecret(name):
			s.secrets = append(s.secrets, cmp.Or(name, "…"))
		case field.isText:
			s.texts = append(s.texts, name)
		case field.isNumber:
			s.numbers = append(s.numbers, name)
		}
	}
}

// formField is what a form says of a field. Invalid members count as absent.
type formField struct {
	title, description, format string
	defaults                   []string
	isText                     bool // free text
	isAddress                  bool // of mail or of the web, in which a secret has a place, too
	isNumber                   bool
	writeOnly                  bool
}

func readFormField(raw jsontext.Value) (f formField) {
	var members map[string]jsontext.Value
	if json.Unmarshal(raw, &members) != nil {
		return f
	}
	text := func(name string) (s string) {
		_ = json.Unmarshal(members[name], &s)
		return s
	}
	f.title, f.description, f.format, f.defaults = text("title"), text("description"), text("format"), textsIn(members["default"])
	_ = json.Unmarshal(members["writeOnly"], &f.writeOnly)
	types := []string{text("type")}
	_ = json.Unmarshal(members["type"], &types)
	is := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(types, name) })
	}
	chosen := isChoice(members)
	f.isText = is("string", "") && !chosen && !slices.Contains([]string{"email", "uri", "date", "date-time"}, f.format) ||
		is("array") && readFormField(members["items"]).isText
	f.isAddress = is("string", "") && !chosen && (f.format == "email" || f.format == "uri")
	f.isNumber = is("number", "integer") && !chosen
	return f
}

// isChoice reports whether a field offers nothing but values to choose from.
func isChoice(members map[string]jsontext.Value) bool {
	var values []jsontext.Value
	if json.Unmarshal(members["enum"], &values) == nil && len(values) > 0 {
		return true
	}
	for _, name := range []string{"oneOf", "anyOf"} {
		var options []map[string]jsontext.Value
		if json.Unmarshal(members[name], &options) == nil && len(options) > 0 &&
			!slices.ContainsFunc(options, func(o map[string]jsontext.Value) bool { return o["const"] == nil }) {
			return true
		}
	}
	return false
}

func (f formField) isSecret(name string) bool {
	use := secretname.Number
	if f.isText {
		use = secretname.Request
	}
	texts := append(f.defaults, f.description)
	return strings.EqualFold(f.format, "password") || f.writeOnly ||
		meanSecret(nameWords(name), secretname.Field) || meanSecret(nameWords(f.title), secretname.Field) || meanSecret(textWords(f.title), secretname.Text) ||
		(f.isText || f.isNumber) && slices.ContainsFunc(texts, func(text string) bool { return describesSecret(text, use) }) ||
		f.isAddress && slices.ContainsFunc(texts, func(text string) bool { return asksForSecret(text, secretname.Request) })
}
