package cli

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// askFunc asks the user for one line: Ask of the terminal, or AskLocked in a question of the terminal.
type askFunc func(ctx context.Context, format string, args ...any) (string, error)

// dialog asks the user for the answer to an elicitation, in several lines. At each of them the user
// can decline or cancel.
type dialog struct {
	*Main
	ask askFunc
}

// The words that end a dialog at any line, and the one that leaves out a field.
const (
	declineWord = "/decline"
	cancelWord  = "/cancel"
	noneWord    = "/none"
)

// endedDialog ends a dialog without an answer.
type endedDialog struct{ action mcp.ElicitAction }

func (e *endedDialog) Error() string { return "the user chose " + string(e.action) }

// line asks for one line. The error is an *endedDialog if the user ends the dialog, or the input has
// ended.
func (d *dialog) line(ctx context.Context, format string, args ...any) (string, error) {
	line, err := d.rawLine(ctx, format, args...)
	return strings.TrimSpace(line), err
}

// rawLine is line with the spaces around it.
func (d *dialog) rawLine(ctx context.Context, format string, args ...any) (string, error) {
	line, err := d.ask(ctx, format, args...)
	switch word := strings.TrimSpace(line); {
	case errors.Is(err, io.EOF), err == nil && word == cancelWord:
		return "", &endedDialog{mcp.ElicitCancel}
	case err == nil && word == declineWord:
		return "", &endedDialog{mcp.ElicitDecline}
	}
	return line, err
}

// choose asks until the answer is one of some words, or the first letter of one. An empty line is the answer
// empty, or none if that is "". After terminal.MaxYesNo other lines it is as if the user had cancelled.
func (d *dialog) choose(ctx context.Context, question, empty string, words ...string) (string, error) {
	for range terminal.MaxYesNo {
		line, err := d.line(ctx, "%s", question)
		if err != nil {
			return "", err
		}
		if line == "" && empty != "" {
			return empty, nil
		}
		if i := slices.IndexFunc(words, func(w string) bool { return w[:1] == strings.ToLower(line) || w == strings.ToLower(line) }); i >= 0 {
			return words[i], nil
		}
		d.Message("found %q, want one of %s", terminal.CleanLine(line), strings.Join(words, ", "))
	}
	d.Message("that counts as cancel")
	return "", &endedDialog{mcp.ElicitCancel}
}

// review asks whether what was filled in is sent, and reports whether the user edits it again instead. An empty line
// sends nothing: whoever presses Enter through the fields presses it once more.
func (d *dialog) review(ctx context.Context, question string) (edit bool, err error) {
	answer, err := d.choose(ctx, question+" [y send, e edit, d decline, c cancel]", "", "yes", "send", "edit", "decline", "no", "cancel")
	switch {
	case err != nil:
		return false, err
	case answer == "cancel":
		return false, &endedDialog{mcp.ElicitCancel}
	case answer == "decline" || answer == "no":
		return false, &endedDialog{mcp.ElicitDecline}
	}
	return answer == "edit", nil
}

// result returns the answer of a dialog that ended with err.
func result(content jsontext.Value, err error) (*mcp.ElicitResult, error) {
	if ended, ok := errors.AsType[*endedDialog](err); ok {
		return &mcp.ElicitResult{Action: ended.action}, nil
	}
	if err != nil {
		return nil, err
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, nil
}

// form asks for the fields of a form one after the other. The user reviews the answers, and may change
// them, before they are sent.
func (d *dialog) form(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	form, err := formOf(p.RequestedSchema)
	if err != nil {
		return nil, err
	}
	d.Message("(an empty line leaves out an optional field; %s or %s ends it without an answer)", declineWord, cancelWord)
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
func (d *dialog) fill(ctx context.Context, form *mcp.ElicitSchema, secret []string) (jsontext.Value, error) {
	given := make(map[string]jsontext.Value)
	for again := false; ; again = true {
		for _, field := range form.Fields {
			value, err := d.field(ctx, field, given[field.Name], again, slices.Contains(secret, field.Name))
			if err != nil {
				return nil, err
			}
			given[field.Name] = value
		}
		var members, shown []member
		for _, field := range form.Fields {
			if value := given[field.Name]; value != nil {
				members = append(members, member{field.Name, value})
				if slices.Contains(secret, field.Name) {
					value = quoted(host.Hidden)
				}
				shown = append(shown, member{field.Name, value})
			}
		}
		content := join(members)
		text := terminal.CleanLine(string(join(shown)))
		question := "Send " + text + "?"
		if !d.Fits(question) { // the names of fields are text of the server
			d.PrintWrapped("  %s", text)
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

// field asks for one field until the answer is valid, or is empty for an optional field. In an edit
// an empty line keeps the answer before.
func (d *dialog) field(ctx context.Context, f mcp.ElicitField, before jsontext.Value, edit, secret bool) (jsontext.Value, error) {
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
	if !d.Fits(asks) { // a part of it would begin a line, as words of the host do
		for _, line := range d.MarkedLines(asks) {
			d.Message("%s", line)
		}
		asks = terminal.Fit(terminal.CleanLine(label), max(20, d.Width()/2)) + ":"
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
		d.Message("found %s, want %s", terminal.CleanLine(line), terminal.CleanLine(want))
	}
}

// url shows the address of an elicitation, and opens it after a yes only. Afterwards the user can open
// it again, or cancel.
func (d *dialog) url(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	d.showAddress(p)
	// A long address moves the line with the host out of sight.
	answer, err := d.choose(ctx, "Open "+mcpclient.URLHost(p)+" in your browser? [y open, N decline, c cancel]", "no", "no", "decline", "yes", "open", "cancel")
	for {
		switch {
		case err != nil:
			return result(nil, err)
		case answer == "no" || answer == "decline":
			return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
		case answer == "cancel":
			return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
		case answer == "done":
			return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
		}
		if err := d.openLink(ctx, p.URL); err != nil {
			d.Message("%s; open the address yourself", terminal.Clean(err.Error()))
		}
		answer, err = d.choose(ctx, "Go on once you are done there? [Y done, r open it again, c cancel]", "done", "done", "yes", "retry", "cancel")
		if answer == "yes" {
			answer = "done"
		}
	}
}

// showAddress prints the host of an address, the whole address, and what a person may not see of it.
func (m *Main) showAddress(p *mcp.ElicitParams) {
	m.Message("  host       %s", mcpclient.URLHost(p))
	if warning := host.AddressWarning(p.URL); warning != "" {
		m.Message("  warning    %s", warning)
	}
	m.Message("  address    %s", terminal.CleanLine(p.URL))
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
		return raw, raw.IsValid() && isOfType(raw, map[bool]string{true: "integer", false: "number"}[s.Integer])
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
