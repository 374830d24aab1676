package mcp

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
)

// Prompt is the definition of a prompt that a client can get.
//
// Spec: 2026-07-28 server/prompts#prompt
type Prompt struct {
	Name string `json:"name"`
	// Title is the name for users. DisplayName returns Name if it is empty.
	Title       string           `json:"title,omitzero"`
	Description string           `json:"description,omitzero"`
	Arguments   []PromptArgument `json:"arguments,omitzero"`
	Icons       []Icon           `json:"icons,omitzero"`
	Meta        Meta             `json:"_meta,omitempty"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// DisplayName returns the title, or the name if the title is empty.
func (p Prompt) DisplayName() string { return cmp.Or(p.Title, p.Name) }

// PromptArgument describes one argument of a prompt. Its value is a string.
type PromptArgument struct {
	Name string `json:"name"`
	// Title is the name for users. DisplayName returns Name if it is empty.
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	Required    bool   `json:"required,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// DisplayName returns the title, or the name if the title is empty.
func (a PromptArgument) DisplayName() string { return cmp.Or(a.Title, a.Name) }

// ListPromptsResult is one page of prompts.
type ListPromptsResult struct {
	ResultBase
	Caching
	Prompts []Prompt `json:"prompts"`
	// NextCursor is the cursor of the next page; nil means that this page is the last.
	NextCursor *string `json:"nextCursor,omitzero"`
}

// GetPromptParams are the params of prompts/get.
type GetPromptParams struct {
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments,omitzero"`
	InputResponseParams
	Meta Meta `json:"_meta,omitempty"`
}

// GetPromptResult is a prompt with its arguments filled in.
type GetPromptResult struct {
	ResultBase
	Description string          `json:"description,omitzero"`
	Messages    []PromptMessage `json:"messages"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// PromptMessage is one message of a prompt.
//
// Spec: 2026-07-28 server/prompts#promptmessage
type PromptMessage struct {
	Role Role `json:"role"`
	// Content must be set.
	Content Content `json:"content"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// MarshalJSONTo writes the message. A message without content is an error.
func (m PromptMessage) MarshalJSONTo(enc *jsontext.Encoder) error {
	if m.Content == nil {
		return errors.New("prompt message: content is nil")
	}
	type body PromptMessage
	return json.MarshalEncode(enc, (*body)(&m))
}

// UnmarshalJSONFrom reads content of any kind.
func (m *PromptMessage) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var wire struct {
		Role    Role           `json:"role"`
		Content jsontext.Value `json:"content"`
		Extra   jsontext.Value `json:",embed"`
	}
	if err := json.UnmarshalDecode(dec, &wire); err != nil {
		return err
	}
	content, err := decodeContent(wire.Content, dec.Options())
	if err != nil {
		return fmt.Errorf("prompt message: %w", err)
	}
	*m = PromptMessage{wire.Role, content, wire.Extra}
	return nil
}
