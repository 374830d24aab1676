package dialog

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
)

// Form asks for the fields of a form one after the other. The user reviews the answers, and may change
// them, before they are sent.
func (d *Dialog) Form(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	form, err := formOf(p.RequestedSchema)
	if err != nil {
		return nil, err
	}
	d.IO.Message("(an empty line leaves out an optional field; %s or %s ends it without an answer)", declineWord, cancelWord)
	return result(d.fill(ctx, form, host.SecretFields(p)))
}

// formOf returns the form of an elicitation.
func formOf(schema jsontext.Value) (*mcp.ElicitSchema, error) {
	form := new(mcp.ElicitSchema)
	if err := json.Unmarshal(schema, form); err != nil {
		return nil, fmt.Errorf("the form: %w", err)
	}
	return form, nil
}

// fill asks for the fields of a form. It does not show again what was typed for the secret ones.
func (d *Dialog) fill(ctx context.Context, form *mcp.ElicitSchema, secret []string) (jsontext.Value, error) {
	given := make(map[string]jsontext.Value)
	for again := false; ; again = true {
		for _, field := range form.Fields {
			value, err := d.field(ctx, field, given[field.Name], again, slices.Contains(secret, field.Name))
			if err != nil {
				return nil, err
			}
			given[field.Name] = value
		}
		content := objectOf(form.Fields, func(name string) jsontext.Value { return given[name] })
		text := terminal.CleanLine(string(objectOf(form.Fields, func(name string) jsontext.Value {
			if given[name] != nil && slices.Contains(secret, name) {
				return quoted(host.Hidden)
			}
			return given[name]
		})))
		question := "Send " + text + "?"
		if !d.IO.Fits(question) { // the names of fields are text of the server
			d.IO.PrintWrapped("  %s", text)
			question = "Send it?"
		}
		switch edit, err := d.review(ctx, question); {
		case err != nil:
			return nil, err
		case !edit:
			return content, nil
		}
	}
}

// objectOf builds a JSON object of the fields that have a value.
func objectOf(fields []mcp.ElicitField, value func(name string) jsontext.Value) jsontext.Value {
	object := []byte{'{'}
	for _, f := range fields {
		v := value(f.Name)
		if v == nil {
			continue
		}
		if len(object) > 1 {
			object = append(object, ',')
		}
		object, _ = jsontext.AppendQuote(object, f.Name)
		object = append(append(object, ':'), v...)
	}
	return append(object, '}')
}

// FieldLines describes the fields of a form, a line for each: its name, and in parentheses what can be typed. It is
// empty if the form cannot be shown.
func FieldLines(p *mcp.ElicitParams) (lines []string) {
	form, err := formOf(p.RequestedSchema)
	if err != nil {
		return nil
	}
	for _, f := range form.Fields {
		label, hint := describeField(f)
		lines = append(lines, terminal.CleanLine(label)+" ("+terminal.CleanLine(hint)+")")
	}
	return lines
}

// field asks for one field until the answer is valid, or is empty for an optional field. In an edit
// an empty line keeps the answer before.
func (d *Dialog) field(ctx context.Context, f mcp.ElicitField, before jsontext.Value, edit, secret bool) (jsontext.Value, error) {
	label, hint := describeField(f)
	want := hint
	if edit && before != nil {
		hint = "Enter keeps " + string(before)
		if secret {
			hint = "Enter keeps what you have typed"
		}
		if !f.Required {
			hint += "; " + noneWord + " leaves it out"
		}
	}
	asks := terminal.CleanLine(label) + " (" + terminal.CleanLine(hint) + "):"
	if !d.IO.Fits(asks) { // a part of it would begin a line, as words of the host do
		for _, line := range d.IO.MarkedLines(asks) {
			d.IO.Message("%s", line)
		}
		asks = terminal.Fit(terminal.CleanLine(label), max(20, d.IO.Width()/2)) + ":"
	}
	for {
		line, err := d.line(ctx, "%s", asks)
		fallback := defaultOf(f.Schema)
		optional := !f.Required || fallback != nil
		switch {
		case err != nil:
			return nil, err
		case line == "" && edit && before != nil:
			return before, nil
		case optional && (line == "" || line == noneWord):
			return fallback, nil
		}
		if value, ok := answerOf(f.Schema, line); ok {
			return value, nil
		}
		if secret {
			line = host.Hidden
		}
		d.IO.PrintWrapped("found %s, want %s", line, want)
	}
}

// describeField returns the name of a field, and what can be typed.
func describeField(f mcp.ElicitField) (label, hint string) {
	var title, about, fallback string
	switch s := f.Schema.(type) {
	case mcp.BooleanSchema:
		title, about, hint = s.Title, s.Description, "y or n"
		if s.Default != nil {
			fallback = map[bool]string{true: "y", false: "n"}[*s.Default]
		}
	case mcp.NumberSchema:
		title, about, hint = s.Title, s.Description, "a number"
		if s.Integer {
			hint = "an integer"
		}
		if s.Default != nil {
			fallback = strconv.FormatFloat(*s.Default, 'g', -1, 64)
		}
	case mcp.EnumSchema:
		title, about, hint = s.Title, s.Description, hintOfChoice(s)
		fallback = strings.Join(s.Default, ",")
	case mcp.StringSchema:
		title, about, hint = s.Title, s.Description, "a text"
		if s.Format != "" {
			hint = "a text of format " + string(s.Format)
		}
		if s.Default != nil {
			fallback = *s.Default
		}
	}
	if title == "" {
		title = f.Name
	}
	if about != "" {
		title += ", " + terminal.Brief(about)
	}
	switch {
	case fallback != "":
		hint += "; default " + fallback
	case !f.Required:
		hint += "; optional"
	}
	return title, hint
}

func hintOfChoice(s mcp.EnumSchema) string {
	options := make([]string, len(s.Options))
	for i, o := range s.Options {
		options[i] = o.Value
		if o.Title != "" && o.Title != o.Value {
			options[i] += " for " + o.Title
		}
	}
	if s.Multiple {
		return "some of " + strings.Join(options, ", ") + ", with commas between them"
	}
	return "one of " + strings.Join(options, ", ")
}

// defaultOf returns what is sent for a field that the user leaves out, or nil.
func defaultOf(s mcp.PrimitiveSchema) jsontext.Value {
	var value any
	switch s := s.(type) {
	case mcp.BooleanSchema:
		value = s.Default
	case mcp.NumberSchema:
		value = s.Default
	case mcp.EnumSchema:
		switch {
		case len(s.Default) == 0:
		case s.Multiple:
			value = s.Default
		default:
			value = s.Default[0]
		}
	case mcp.StringSchema:
		value = s.Default
	}
	raw, err := json.Marshal(value)
	if err != nil || string(raw) == "null" {
		return nil
	}
	return raw
}

// answerOf converts what was typed for a field. The client validates the whole form
// before it is sent.
func answerOf(s mcp.PrimitiveSchema, line string) (jsontext.Value, bool) {
	switch s := s.(type) {
	case mcp.BooleanSchema:
		switch strings.ToLower(line) {
		case "y", "yes", "true":
			return jsontext.Value("true"), true
		case "n", "no", "false":
			return jsontext.Value("false"), true
		}
		return nil, false
	case mcp.NumberSchema:
		raw := jsontext.Value(line)
		return raw, raw.IsValid() && raw.Kind() == jsontext.KindNumber && !(s.Integer && strings.ContainsAny(line, ".eE"))
	case mcp.EnumSchema:
		return choiceOf(s, line)
	}
	return quoted(line), line != ""
}

func choiceOf(s mcp.EnumSchema, line string) (jsontext.Value, bool) {
	words := []string{line}
	if s.Multiple {
		words = strings.Split(line, ",")
	}
	for i, word := range words {
		words[i] = strings.TrimSpace(word)
		if !slices.ContainsFunc(s.Options, func(o mcp.EnumOption) bool { return o.Value == words[i] }) {
			return nil, false
		}
	}
	if !s.Multiple {
		return quoted(words[0]), true
	}
	list, err := json.Marshal(words)
	return list, err == nil
}

func quoted(text string) jsontext.Value {
	value, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "\uFFFD"))
	return value
}
