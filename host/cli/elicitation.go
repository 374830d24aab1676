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

// elicitor answers elicitations of a server during a call. Without a terminal it declines
// them. A call that then fails gets the exit code for missing consent.
type elicitor struct {
	to *Main

	mu       sync.Mutex
	declined bool         // without a terminal, or by the user
	progress *progressBar // hidden meanwhile; may be nil
}

// errDeclined ends a form that the user declines.
var errDeclined = errors.New("declined")

// handle sets the elicitation handlers.
func (q *elicitor) handle(o *mcpclient.Options) { o.ElicitForm, o.ElicitURL = q.elicit, q.elicitURL }

func (q *elicitor) wereDeclined() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.declined
}

func (q *elicitor) during(w *progressBar) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.progress = w
}

// begin hides the progress bar until end is called.
func (q *elicitor) begin() (end func()) {
	q.mu.Lock()
	w := q.progress
	q.mu.Unlock()
	if w == nil {
		return func() {}
	}
	w.pause()
	return w.resume
}

func (q *elicitor) decline() *mcp.ElicitResult {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.declined = true
	return &mcp.ElicitResult{Action: mcp.ElicitDecline}
}

// elicit asks for the fields of a form one after the other.
func (q *elicitor) elicit(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	defer q.begin()()
	m := q.to
	m.message("\nThe server asks: %s", p.Message)
	if !m.Interactive {
		m.message("there is no terminal to ask on, so the question is declined")
		return q.decline(), nil
	}
	var form mcp.ElicitSchema
	if err := json.Unmarshal(p.RequestedSchema, &form); err != nil {
		return nil, fmt.Errorf("the form: %w", err)
	}
	m.message("(an empty line leaves out an optional field; Ctrl-D declines)")
	content, err := m.fillForm(ctx, &form)
	switch {
	case errors.Is(err, errDeclined):
		return q.decline(), nil
	case err != nil:
		return nil, err
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, nil
}

// fillForm asks for the fields of a form. With more than one field the user confirms all
// answers before they are sent.
func (m *Main) fillForm(ctx context.Context, form *mcp.ElicitSchema) (jsontext.Value, error) {
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
		answer, err := m.askYesNo(ctx, yesNo{text: "Send " + cleanLine(string(content)) + "?", defaultYes: true})
		if err != nil || answer != yes {
			return nil, inputEnded(err)
		}
	}
	return content, nil
}

// inputEnded returns why there is no answer: the input has ended, or the call was
// cancelled.
func inputEnded(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return errDeclined
	}
	return err
}

// askField asks for one field until the answer is valid, or is empty for an optional
// field.
func (m *Main) askField(ctx context.Context, f mcp.ElicitField) (jsontext.Value, error) {
	label, hint := describeField(f)
	for {
		line, err := m.ask(ctx, "%s (%s):", cleanLine(label), cleanLine(hint))
		if err != nil {
			return nil, inputEnded(err)
		}
		if line = strings.TrimSpace(line); line == "" && (!f.Required || hasDefault(f.Schema)) {
			return nil, nil
		}
		if value, ok := answerOf(f.Schema, line); ok {
			return value, nil
		}
		m.message("found %s, want %s", cleanLine(line), cleanLine(hint))
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

// elicitURL asks the user to open a URL. The URL is never opened without consent.
func (q *elicitor) elicitURL(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	defer q.begin()()
	m := q.to
	m.message("\nThe server asks you to visit %s: %s\n\n  %s\n", mcpclient.URLHost(p), p.Message, cleanLine(p.URL))
	if !m.Interactive {
		m.message("there is no terminal to ask on, so the question is declined")
		return q.decline(), nil
	}
	answer, err := m.askYesNo(ctx, yesNo{text: "Open it in a browser if you trust that host. Go on?"})
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case answer != yes:
		return q.decline(), nil
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
}
