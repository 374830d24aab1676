package relay

import (
	"bytes"
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

// maxShownName limits a name in an error or a text, in bytes.
const maxShownName = 200

// shownText returns a text of several lines with the characters made visible that are not shown.
func shownText(text string) string { return host.EscapeUnprintable(text, '\n', '\t') }

// shownLine is shownText for a text of one line.
func shownLine(text string) string { return host.EscapeUnprintable(text) }

// shownForm returns the schema of a form with the characters made visible that a client does not
// show: in titles and descriptions. The names and values of fields go back to the server, so they stay
// as they are. Where they have such characters, a title or the description shows them.
func shownForm(schema jsontext.Value) (jsontext.Value, error) {
	shown, err := mapStrings(schema, isText, shownLine)
	if err != nil {
		return schema, nil // it is none, which the client finds
	}
	if !hasUnshown(shown, shownLine) {
		return shown, nil
	}
	var form mcp.ElicitSchema
	if err := json.Unmarshal(shown, &form); err != nil {
		return nil, fmt.Errorf("a form with characters that are not shown: %w", err)
	}
	for i := range form.Fields {
		showField(&form.Fields[i])
	}
	return json.Marshal(form)
}

// allowedForm returns the schema of a form with what the protocol allows in it, and nothing else: the user is shown
// the texts in which host.SecretField and imitated have looked.
func allowedForm(schema jsontext.Value) (jsontext.Value, error) {
	var form mcp.ElicitSchema
	if err := json.Unmarshal(schema, &form); err != nil {
		return nil, fmt.Errorf("the form: %w", err)
	}
	return json.Marshal(form)
}

// showField shows the name and the values of a field in its texts.
func showField(f *mcp.ElicitField) {
	title := ""
	if shown := shownLine(f.Name); shown != f.Name {
		title = shown
	}
	switch s := f.Schema.(type) {
	case mcp.StringSchema:
		s.Format = mcp.StringFormat(shownLine(string(s.Format)))
		if s.Default != nil {
			s.Description = withDefault(s.Description, *s.Default)
		}
		s.Title = cmp.Or(s.Title, title)
		f.Schema = s
	case mcp.NumberSchema:
		s.Title = cmp.Or(s.Title, title)
		f.Schema = s
	case mcp.BooleanSchema:
		s.Title = cmp.Or(s.Title, title)
		f.Schema = s
	case mcp.EnumSchema:
		s.Title = cmp.Or(s.Title, title)
		s.Description = withDefault(s.Description, s.Default...)
		for i := range s.Options {
			if o := &s.Options[i]; shownLine(o.Value) != o.Value {
				o.Title = cmp.Or(o.Title, shownLine(o.Value))
			}
		}
		f.Schema = s
	}
}

// withDefault returns the description of a field with the default values that have characters that
// are not shown.
func withDefault(description string, values ...string) string {
	for _, value := range values {
		if shown := shownText(value); shown != value {
			description = strings.TrimSpace(fmt.Sprintf("%s (Default: %s)", description, shown))
		}
	}
	return description
}

// showContents makes characters visible that a person does not see, in what a server has written for
// the model of a client. It returns an error where they must not be.
func showContents(contents mcp.Contents) (err error) {
	for i, content := range contents {
		switch content := content.(type) {
		case mcp.TextContent:
			content.Text = shownText(content.Text)
			contents[i] = content
		case mcp.EmbeddedResource:
			content.Resource.URI, content.Resource.Text = shownLine(content.Resource.URI), shownText(content.Resource.Text)
			contents[i] = content
		case mcp.ResourceLink:
			content.URI, content.Name = shownLine(content.URI), shownLine(content.Name)
			content.Title, content.Description = shownText(content.Title), shownText(content.Description)
			contents[i] = content
		case mcp.ToolUseContent:
			if err := checkToolName(content.Name); err != nil {
				return err
			}
			if content.Input, err = shownJSON(content.Input, isValue); err != nil {
				return fmt.Errorf("call of the tool %q: %w", host.CutText(content.Name, maxShownName), err)
			}
			contents[i] = content
		case mcp.ToolResultContent:
			if content.StructuredContent, err = shownJSON(content.StructuredContent, isValue); err != nil {
				return fmt.Errorf("result of a tool: %w", err)
			}
			if err := showContents(content.Content); err != nil {
				return err
			}
			contents[i] = content
		case mcp.UnknownContent:
			if content.Raw, err = shownJSON(content.Raw, isValue); err != nil {
				return fmt.Errorf("content of the type %q: %w", shownLine(host.CutText(content.Type, maxShownName)), err)
			}
			contents[i] = content
		}
	}
	return nil
}

// showSampling makes characters visible that a person does not see in the messages and tools of a sampling
// request. It returns an error where they must not be.
func showSampling(p *mcp.CreateMessageParams) error {
	for i := range p.Messages {
		if err := showContents(p.Messages[i].Content); err != nil {
			return err
		}
	}
	for i := range p.Tools {
		if err := showTool(&p.Tools[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkToolName returns an error if the name of a tool has characters that are not shown.
func checkToolName(name string) error {
	if shownLine(name) != name {
		return fmt.Errorf("tool %q: its name has characters that are not shown", shownLine(host.CutText(name, maxShownName)))
	}
	return nil
}

// showTool makes the characters visible in the texts of a tool that the model of a client may use. The
// rest of its definition must not have such characters: a person would allow what only the model reads.
func showTool(t *mcp.Tool) (err error) {
	if err := checkToolName(t.Name); err != nil {
		return err
	}
	t.Title, t.Description = shownText(t.Title), shownText(t.Description)
	if t.Annotations != nil {
		annotations := *t.Annotations
		annotations.Title = shownText(annotations.Title)
		t.Annotations = &annotations
	}
	for _, schema := range []*jsontext.Value{&t.InputSchema, &t.OutputSchema} {
		if *schema, err = shownJSON(*schema, isText); err != nil {
			return fmt.Errorf("schema of the tool %q: %w", t.Name, err)
		}
	}
	return nil
}

// shownJSON returns JSON with the characters made visible in some strings. It returns an error if
// others have such characters, too.
func shownJSON(raw jsontext.Value, replaced func(*jsontext.Decoder) bool) (jsontext.Value, error) {
	shown, err := mapStrings(raw, replaced, shownText)
	if err == nil && hasUnshown(shown, shownText) {
		return nil, errors.New("names or values have characters that are not shown")
	}
	return shown, err
}

// hasUnshown reports whether a string in JSON is not as it is shown.
func hasUnshown(raw jsontext.Value, shown func(string) string) (found bool) {
	_, _ = mapStrings(raw, func(*jsontext.Decoder) bool { return true }, func(text string) string {
		found = found || shown(text) != text
		return text
	})
	return found
}

// mapStrings returns JSON with some of its strings replaced: those for which replaced is true when
// the decoder is in front of them. A nil value stays nil.
func mapStrings(raw jsontext.Value, replaced func(*jsontext.Decoder) bool, replace func(string) string) (jsontext.Value, error) {
	if len(raw) == 0 {
		return raw, nil
	}
	var out bytes.Buffer
	dec, enc := jsontext.NewDecoder(bytes.NewReader(raw)), jsontext.NewEncoder(&out)
	for {
		next := dec.PeekKind() == '"' && replaced(dec)
		token, err := dec.ReadToken()
		if err == io.EOF {
			return bytes.TrimSpace(out.Bytes()), nil
		}
		if err == nil && next {
			token = jsontext.String(replace(token.String()))
		}
		if err == nil {
			err = enc.WriteToken(token)
		}
		if err != nil {
			return nil, err
		}
	}
}

// isText reports whether the next string is a text for people: the value of a member title or
// description, or an element of enumNames.
func isText(dec *jsontext.Decoder) bool {
	kind, length := dec.StackIndex(dec.StackDepth())
	at := dec.StackPointer()
	switch {
	case kind == '{' && length%2 == 1:
		return slices.Contains([]string{"title", "description"}, at.LastToken())
	case kind == '[' && length > 0:
		at = at.Parent()
		fallthrough
	case kind == '[':
		return at.LastToken() == "enumNames"
	}
	return false
}

// isValue reports whether the next string is a value, and not the name of a member.
func isValue(dec *jsontext.Decoder) bool {
	kind, length := dec.StackIndex(dec.StackDepth())
	return kind != '{' || length%2 == 1
}
