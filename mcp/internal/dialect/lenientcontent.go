package dialect

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// readBlock reads one element of content. What is no block is text, except null.
func (r *lenientReader) readBlock(element jsontext.Value) ([]mcp.Content, error) {
	switch element.Kind() {
	case 'n':
		return nil, errors.New("found null")
	case '{':
	default:
		return mcp.Contents{mcp.Text(textOf(element))}, nil
	}
	kind := blockType(element)
	if kind == "" {
		return mcp.Contents{mcp.Text(string(element))}, nil
	}
	if rawjson.Member(element, "type").Kind() != '"' {
		element = withMember(element, "type", rawjson.AppendString(nil, kind))
	}
	switch kind {
	case "text":
		return decodeBlock[mcp.TextContent](r, withText(element))
	case "image":
		return decodeBlock[mcp.ImageContent](r, element)
	case "audio":
		return decodeBlock[mcp.AudioContent](r, element)
	case "resource_link":
		return decodeBlock[mcp.ResourceLink](r, element)
	case "resource":
		return decodeBlock[mcp.EmbeddedResource](r, element)
	}
	c, err := mcp.UnmarshalContent(element)
	if err != nil {
		c = mcp.Text(string(element))
	}
	return mcp.Contents{c}, nil
}

func decodeBlock[C mcp.Content](r *lenientReader, block jsontext.Value) ([]mcp.Content, error) {
	var c C
	err := json.Unmarshal(block, &c, r.options)
	return []mcp.Content{c}, err
}

// blockType returns the type of a block. If it says none, its members do, or it is empty.
func blockType(block jsontext.Value) string {
	if kind := textMember(block, "type"); kind != "" {
		return kind
	}
	mimeType := textMember(block, "mimeType")
	switch {
	case rawjson.Member(block, "text") != nil:
		return "text"
	case rawjson.Member(block, "resource").Kind() == '{':
		return "resource"
	case rawjson.Member(block, "data").Kind() != '"':
		return ""
	case strings.HasPrefix(mimeType, "image/"):
		return "image"
	case strings.HasPrefix(mimeType, "audio/"):
		return "audio"
	}
	return ""
}

// textMember returns a member that is a string, or "".
func textMember(object jsontext.Value, name string) string {
	if value := rawjson.Member(object, name); value.Kind() == '"' {
		return string(rawjson.Unquote(value))
	}
	return ""
}

// withText returns an object whose member text is a string.
func withText(object jsontext.Value) jsontext.Value {
	if text := rawjson.Member(object, "text"); text.Kind() != '"' {
		return withMember(object, "text", rawjson.AppendString(nil, textOf(text)))
	}
	return object
}

// readContents reads one element of the contents of resources.
func (r *lenientReader) readContents(element jsontext.Value) ([]mcp.ResourceContents, error) {
	switch element.Kind() {
	case 'n':
		return nil, errors.New("found null")
	case '{':
	default:
		return []mcp.ResourceContents{{Text: textOf(element)}}, nil
	}
	var wire struct {
		URI      string         `json:"uri"`
		MIMEType string         `json:"mimeType"`
		Text     string         `json:"text"`
		Blob     []byte         `json:"blob"`
		Meta     mcp.Meta       `json:"_meta"`
		Extra    jsontext.Value `json:",embed"`
	}
	element = withText(element)
	if blob := rawjson.Member(element, "blob"); blob != nil && textMember(element, "text") != "" {
		if textOf(blob) != "" { // one of them is right, and text can be read by everybody
			r.leftOut.add(r.inside + "/blob")
		}
		element = withMember(element, "blob", nil)
	}
	if err := json.Unmarshal(element, &wire, r.options); err != nil {
		return nil, err
	}
	return []mcp.ResourceContents{{URI: wire.URI, MIMEType: wire.MIMEType, Text: wire.Text, Blob: wire.Blob, Meta: wire.Meta, Extra: wire.Extra}}, nil
}

// readEmbedded reads the contents of an embedded resource.
func (r *lenientReader) readEmbedded(dec *jsontext.Decoder, c *mcp.ResourceContents) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	found, err := r.readContents(raw)
	if err == nil {
		*c = found[0]
	}
	return err
}

// readMessages reads one element of the messages of a prompt: a message for each of its content blocks. What
// is no message is content of the user. Unknown members are those of the first message alone: with a copy in each, the
// result would be as large as a list times a member.
func (r *lenientReader) readMessages(element jsontext.Value) ([]mcp.PromptMessage, error) {
	message := struct {
		Role    mcp.Role       `json:"role"`
		Content mcp.Contents   `json:"content"`
		Extra   jsontext.Value `json:",embed"`
	}{}
	if element.Kind() == '{' && rawjson.Member(element, "content") == nil && blockType(element) != "" {
		block := withMember(element, "role", nil)
		element = withMember(withMember(jsontext.Value("{}"), "role", rawjson.AppendString(nil, textMember(element, "role"))), "content", block)
	}
	if err := json.Unmarshal(asMember("content", element), &message, r.options); err != nil {
		return nil, err
	}
	if len(message.Content) == 0 {
		return nil, errors.New("has no content")
	}
	isSplit := len(message.Content) > 1
	if message.Role == "" || isSplit && message.Role != mcp.RoleAssistant { // each message gets a copy
		message.Role = mcp.RoleUser
	}
	messages := make([]mcp.PromptMessage, len(message.Content))
	for i, c := range message.Content {
		messages[i] = mcp.PromptMessage{Role: message.Role, Content: c}
	}
	messages[0].Extra = message.Extra
	return messages, nil
}

// readCompletion reads a completion, which may be its values alone.
func (r *lenientReader) readCompletion(dec *jsontext.Decoder, c *mcp.Completion) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	var wire struct {
		Values  jsontext.Value `json:"values"`
		Total   *int64         `json:"total"`
		HasMore bool           `json:"hasMore"`
	}
	if err := json.Unmarshal(asMember("values", raw), &wire, r.options); err != nil {
		return err
	}
	*c = mcp.Completion{Values: []string{}, Total: wire.Total, HasMore: wire.HasMore}
	for value := range elementsOf(wire.Values) {
		if value.Kind() == 'n' {
			r.leftOut.add("values")
			continue
		}
		c.Values = append(c.Values, textOf(value))
	}
	return nil
}
