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
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// questions are those that a server asks in the middle of a call. Without a
// terminal they are declined, which is remembered: a call that then fails has
// failed for want of consent.
type questions struct {
	to *Main

	mu       sync.Mutex
	declined bool   // for want of a terminal, or by the user
	meter    *meter // to be hidden meanwhile; may be nil
}

// errDeclined ends a form that the user does not want to fill in.
var errDeclined = errors.New("declined")

// handle has the options send the questions here.
func (q *questions) handle(o *mcpclient.Options) { o.Elicit, o.Visit = q.elicit, q.visit }

func (q *questions) wereDeclined() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.declined
}

func (q *questions) during(w *meter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.meter = w
}

// begin hides the meter until the function that it returns is called.
func (q *questions) begin() (end func()) {
	q.mu.Lock()
	w := q.meter
	q.mu.Unlock()
	if w == nil {
		return func() {}
	}
	w.pause()
	return w.resume
}

func (q *questions) decline() *mcp.ElicitResult {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.declined = true
	return &mcp.ElicitResult{Action: mcp.ElicitDecline}
}

// elicit asks by a form, one field after the other.
func (q *questions) elicit(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	defer q.begin()()
	m := q.to
	m.say("\nThe server asks: %s", p.Message)
	if !m.Interactive {
		m.say("nobody can answer without a terminal, so the answer is no")
		return q.decline(), nil
	}
	var form mcp.ElicitSchema
	if err := json.Unmarshal(p.RequestedSchema, &form); err != nil {
		return nil, fmt.Errorf("the form: %w", err)
	}
	m.say("(an empty line leaves out what is optional; Ctrl-D says no)")
	content, err := m.fill(ctx, &form)
	switch {
	case errors.Is(err, errDeclined):
		return q.decline(), nil
	case err != nil:
		return nil, err
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, nil
}

// fill asks for the fields of a form. Of more than one field the user sees all
// answers before they are sent.
func (m *Main) fill(ctx context.Context, form *mcp.ElicitSchema) (jsontext.Value, error) {
	var given []member
	for _, field := range form.Fields {
		value, err := m.askField(ctx, field)
		if err != nil {
			return nil, err
		}
		if value != nil {
			given = append(given, member{field.Name, value})
		}
	}
	content := join(given)
	if len(form.Fields) != 1 {
		answer, err := m.ask(ctx, "Send %s? [Y/n]", cleanLine(string(content)))
		if err != nil || strings.TrimSpace(answer) != "" && !isYes(answer) {
			return nil, ended(err)
		}
	}
	return content, nil
}

// ended returns why no answer came: the user has ended the input, or waits for
// nothing any more.
func ended(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return errDeclined
	}
	return err
}

// askField asks for one field until the answer is one, or nothing for one that is
// not required.
func (m *Main) askField(ctx context.Context, f mcp.ElicitField) (jsontext.Value, error) {
	label, hint := describeField(f)
	for {
		line, err := m.ask(ctx, "%s (%s):", cleanLine(label), cleanLine(hint))
		if err != nil {
			return nil, ended(err)
		}
		if line = strings.TrimSpace(line); line == "" && (!f.Required || hasDefault(f.Schema)) {
			return nil, nil
		}
		if value, ok := answerOf(f.Schema, line); ok {
			return value, nil
		}
		m.say("found %s, want %s", cleanLine(line), cleanLine(hint))
	}
}

// describeField returns how a field is called, and what can be written.
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
		title += ", " + brief(about)
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

func hasDefault(s mcp.PrimitiveSchema) bool {
	switch s := s.(type) {
	case mcp.BooleanSchema:
		return s.Default != nil
	case mcp.NumberSchema:
		return s.Default != nil
	case mcp.EnumSchema:
		return len(s.Default) > 0
	case mcp.StringSchema:
		return s.Default != nil
	}
	return false
}

// answerOf reads what was typed for a field. The client checks the whole form
// besides, before it is sent.
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

// visit asks the user to open a URL. Nothing opens it unasked.
func (q *questions) visit(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	defer q.begin()()
	m := q.to
	m.say("\nThe server asks you to visit %s: %s\n\n  %s\n", mcpclient.VisitHost(p), p.Message, cleanLine(p.URL))
	if !m.Interactive {
		m.say("nobody can agree without a terminal, so the answer is no")
		return q.decline(), nil
	}
	answer, err := m.ask(ctx, "Open it in a browser if you trust that host. Go on? [y/N]")
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case !isYes(answer):
		return q.decline(), nil
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
}

func isYes(answer string) bool {
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
