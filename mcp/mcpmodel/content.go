package mcpmodel

import (
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fondaco/fondaco/mcp"
)

// part is content for a model: text, or media if mimeType is set.
type part struct {
	text     string
	media    []byte
	mimeType string
}

func (p part) isMedia() bool { return p.mimeType != "" }

func (p part) base64() string { return base64.StdEncoding.EncodeToString(p.media) }

func (p part) dataURL() string { return "data:" + p.mimeType + ";base64," + p.base64() }

// User returns a message of the user, to append to the messages of a conversation. Media that
// the API does not take become a text that says so.
func (a *API) User(content ...mcp.Content) jsontext.Value {
	return a.wire.message(mcp.RoleUser, a.parts(content, a.rules.userMedia), nil)[0]
}

// Prompt returns the messages of a prompt.
func (a *API) Prompt(result *mcp.GetPromptResult) []jsontext.Value {
	var messages []jsontext.Value
	for _, m := range result.Messages {
		messages = append(messages, a.wire.message(m.Role, a.parts(mcp.Contents{m.Content}, a.mediaOf(m.Role)), nil)...)
	}
	return messages
}

// mediaOf returns the media that messages of a role may have.
func (a *API) mediaOf(role mcp.Role) []string {
	if role == mcp.RoleAssistant {
		return nil
	}
	return a.rules.userMedia
}

// Results returns the messages with the results of all calls of a turn, to append to the
// messages of a conversation. Content becomes text and media; media that the API does not
// take, or that are too large for it, become a text that says so. Structured content is
// appended as JSON, unless a text is the same JSON already. Text beyond Options.MaxText is cut.
func (a *API) Results(results ...Result) []jsontext.Value {
	if len(results) == 0 {
		return nil
	}
	converted := make([]toolResult, len(results))
	for i, r := range results {
		converted[i] = a.result(r)
	}
	return a.wire.results(converted)
}

// toolResult is the result of a call as APIs have it.
type toolResult struct {
	call   Call
	parts  []part
	failed bool
}

func (a *API) result(r Result) toolResult {
	switch {
	case r.err != nil:
		return toolResult{r.call, a.bounded([]part{{text: r.err.Error()}}), true}
	case r.result == nil:
		return toolResult{r.call, []part{{text: "the tool returned no result"}}, true}
	}
	return toolResult{r.call, a.resultParts(r.result.Content, r.result.StructuredContent), r.result.IsError}
}

func (a *API) resultParts(content mcp.Contents, structured jsontext.Value) []part {
	parts := a.convert(content, a.rules.resultMedia)
	if structured != nil && structured.IsValid() && !hasJSON(parts, structured) {
		parts = append(parts, part{text: string(structured)})
	}
	return a.bounded(parts)
}

// hasJSON reports whether a text is the JSON value v.
func hasJSON(parts []part, v jsontext.Value) bool {
	return slices.ContainsFunc(parts, func(p part) bool {
		text := jsontext.Value(strings.TrimSpace(p.text))
		return !p.isMedia() && len(text) > 0 && text.Kind() == v.Kind() && text.IsValid() && equalValues(text, v)
	})
}

// parts converts contents for a message.
func (a *API) parts(content mcp.Contents, media []string) []part {
	return a.bounded(a.convert(content, media))
}

func (a *API) convert(content mcp.Contents, media []string) []part {
	var parts []part
	for _, c := range content {
		if p := a.part(c, media); p.isMedia() || p.text != "" {
			parts = append(parts, p)
		}
	}
	return parts
}

// bounded cuts the text of parts. There is always one part, because APIs refuse empty content.
func (a *API) bounded(parts []part) []part {
	left, cut := a.maxText(), 0
	kept := parts[:0]
	for _, p := range parts {
		if !p.isMedia() {
			text := p.text
			if len(text) > left {
				text = validPrefix(text, left)
			}
			cut += len(p.text) - len(text)
			left -= len(text)
			p.text = text
		}
		if p.isMedia() || p.text != "" {
			kept = append(kept, p)
		}
	}
	if cut > 0 {
		kept = append(kept, part{text: fmt.Sprintf("[%d more bytes of text are not shown]", cut)})
	}
	if len(kept) == 0 {
		kept = append(kept, part{text: "[no content]"})
	}
	return kept
}

// validPrefix returns at most n bytes of text and cuts no character.
func validPrefix(text string, n int) string {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func (a *API) part(c mcp.Content, media []string) part {
	switch c := c.(type) {
	case mcp.TextContent:
		return part{text: c.Text}
	case mcp.ImageContent:
		return a.medium("image", c.MIMEType, c.Data, media)
	case mcp.AudioContent:
		return a.medium("audio clip", c.MIMEType, c.Data, media)
	case mcp.ResourceLink:
		return part{text: linkText(c.Resource)}
	case mcp.EmbeddedResource:
		if !c.Resource.IsBlob() {
			return part{text: fmt.Sprintf("[resource %s]\n%s", c.Resource.URI, c.Resource.Text)}
		}
		p := a.medium("resource "+c.Resource.URI, c.Resource.MIMEType, c.Resource.Blob, media)
		return p
	case mcp.UnknownContent:
		return part{text: fmt.Sprintf("[content of the unknown type %.64q is not shown]", c.Type)}
	}
	return part{text: "[content of a type that is not for models is not shown]"}
}

// linkText describes a resource link.
func linkText(r mcp.Resource) string {
	text := fmt.Sprintf("[resource link %s: %s", r.URI, r.DisplayName())
	if r.MIMEType != "" {
		text += ", " + r.MIMEType
	}
	if r.Description != "" {
		text += ". " + r.Description
	}
	return text + "]"
}

// mediaNames are other names of MIME types that the table has.
var mediaNames = map[string]string{
	"image/jpg": "image/jpeg", "audio/x-wav": "audio/wav", "audio/wave": "audio/wav", "audio/vnd.wave": "audio/wav",
	"audio/mp3": "audio/mpeg", "audio/x-aiff": "audio/aiff", "audio/x-flac": "audio/flac",
}

// medium returns media that the API takes, or a text instead.
func (a *API) medium(what, mimeType string, data []byte, media []string) part {
	base, _, _ := strings.Cut(mimeType, ";")
	base = strings.ToLower(strings.TrimSpace(base))
	if name := mediaNames[base]; name != "" {
		base = name
	}
	switch {
	case len(data) == 0:
		return part{text: fmt.Sprintf("[%s of type %q is empty]", what, mimeType)}
	case !slices.Contains(media, base):
		return part{text: fmt.Sprintf("[%s of type %q, %d bytes, is not shown: the model cannot take it here]", what, mimeType, len(data))}
	case a.rules.mediaBytes > 0 && len(data) > a.rules.mediaBytes:
		return part{text: fmt.Sprintf("[%s of type %q is not shown: it has %d bytes, and the model takes at most %d]", what, mimeType, len(data), a.rules.mediaBytes)}
	}
	return part{media: data, mimeType: base}
}

// joinText returns the texts of parts, one after the other.
func joinText(parts []part) string {
	var texts []string
	for _, p := range parts {
		if !p.isMedia() {
			texts = append(texts, p.text)
		}
	}
	return strings.Join(texts, "\n")
}

// jsonText returns the JSON value that is the only text of parts, or the text as a JSON string.
func jsonText(parts []part) jsontext.Value {
	text := joinText(parts)
	if v := jsontext.Value(text); v.Kind() == '{' && v.IsValid() {
		return v
	}
	v, err := json.Marshal(text, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return jsontext.Value(`""`)
	}
	return v
}
