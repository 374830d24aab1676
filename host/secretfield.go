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

// askingWords are words of messages that ask for what follows.
var askingWords = []string{"enter", "type", "paste", "provide", "give", "send", "tell", "input", "insert", "submit", "confirm", "need"}

// maxAsked is how many words after such a word a secret counts as asked for.
const maxAsked = 12

// SecretField returns the name of a field of a form that asks for a secret, or "": by the name,
// the title, the description or the format of the field, also if letters that look alike or
// characters that are not shown disguise it. If only the message of the form asks for one, that
// is its first text field, or its first number. Fields count at any place of the schema: a client
// may show more than the protocol allows.
//
// Spec: 2026-07-28 client/elicitation#security-considerations
func SecretField(p *mcp.ElicitParams) string {
	var s formSearch
	s.search(p.RequestedSchema, 0)
	switch {
	case s.secret != "":
		return s.secret
	case s.text != "" && asksForSecret(p.Message, secretname.Request):
		return s.text
	case s.number != "" && asksForSecret(p.Message, secretname.Number):
		return s.number
	}
	return ""
}

// asksForSecret reports whether a message asks for a secret. A password in another language counts
// wherever it is named.
func asksForSecret(message string, use secretname.Use) bool {
	all := textWords(message)
	asked := 0 // words that are left after one that asks
	for i, word := range all {
		if asked > 0 && secretname.MeanAt(all, i, use) {
			return true
		}
		asked--
		if slices.Contains(askingWords, word) || word == "is" && i > 0 && all[i-1] == "what" {
			asked = maxAsked
		}
	}
	return nameForeignPassword(all)
}

// formSearch has the names of fields that were found in a schema.
type formSearch struct {
	secret       string // that asks for a secret
	text, number string // the first ones
}

// maxFormDepth limits the values around a field. Forms of the protocol have two.
const maxFormDepth = 8

// search finds the fields in a part of a schema. One that is too deep counts as a secret.
func (s *formSearch) search(raw jsontext.Value, depth int) {
	var members map[string]jsontext.Value
	var elements []jsontext.Value
	switch kind := raw.Kind(); {
	case kind != '{' && kind != '[' || s.secret != "":
	case depth == maxFormDepth:
		s.secret = "…"
	case kind == '[' && json.Unmarshal(raw, &elements) == nil:
		for _, element := range elements {
			s.search(element, depth+1)
		}
	case kind == '{' && json.Unmarshal(raw, &members) == nil:
		for name, member := range members {
			if name == "properties" {
				s.properties(member)
			}
			s.search(member, depth+1)
		}
		// A client may follow a reference, or a schema around another one, to these texts.
		if depth > 0 && members["const"] == nil && readFormField(raw).isSecret("") {
			s.secret = cmp.Or(s.secret, "…")
		}
	}
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
		if field.isSecret(name) {
			s.secret = cmp.Or(s.secret, name, "…")
		}
		if field.isText {
			s.text = cmp.Or(s.text, name)
		}
		if field.isNumber {
			s.number = cmp.Or(s.number, name)
		}
	}
}

// formField is what a form says of a field. Invalid members count as absent.
type formField struct {
	title, description, format string
	isText                     bool // free text
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
	f.title, f.description, f.format = text("title"), text("description"), text("format")
	_ = json.Unmarshal(members["writeOnly"], &f.writeOnly)
	types := []string{text("type")}
	_ = json.Unmarshal(members["type"], &types)
	is := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(types, name) })
	}
	chosen := isChoice(members)
	f.isText = is("string", "") && !chosen && !slices.Contains([]string{"email", "uri", "date", "date-time"}, f.format) ||
		is("array") && readFormField(members["items"]).isText
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
	return strings.EqualFold(f.format, "password") || f.writeOnly ||
		meanSecret(nameWords(name), secretname.Field) || meanSecret(nameWords(f.title), secretname.Field) || meanSecret(textWords(f.title), secretname.Text) ||
		(f.isText || f.isNumber) && meanSecret(textWords(f.description), secretname.Text)
}
