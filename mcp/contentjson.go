package mcp

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
)

// UnmarshalContent decodes one block of content. A block of a kind that this
// version does not know becomes an UnknownContent; a block without a type is
// an error.
func UnmarshalContent(raw jsontext.Value) (Content, error) {
	return decodeContent(raw, json.JoinOptions())
}

func decodeContent(raw jsontext.Value, opts json.Options) (Content, error) {
	kind, err := kindOf(raw, opts)
	if err != nil {
		return nil, err
	}
	switch kind {
	case kindText:
		return decodeAs[TextContent](raw, opts)
	case kindImage:
		return decodeAs[ImageContent](raw, opts)
	case kindAudio:
		return decodeAs[AudioContent](raw, opts)
	case kindResourceLink:
		return decodeAs[ResourceLink](raw, opts)
	case kindResource:
		return decodeAs[EmbeddedResource](raw, opts)
	case kindToolUse:
		return decodeAs[ToolUseContent](raw, opts)
	case kindToolResult:
		return decodeAs[ToolResultContent](raw, opts)
	}
	return UnknownContent{Type: kind, Raw: raw.Clone()}, nil
}

// kindOf returns the "type" member of a block.
func kindOf(raw jsontext.Value, opts json.Options) (string, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &head, opts); err != nil {
		return "", fmt.Errorf("content: %w", err)
	}
	if head.Type == "" {
		return "", errors.New(`content: type is missing, want "text" or another kind`)
	}
	return head.Type, nil
}

func decodeAs[C Content](raw jsontext.Value, opts json.Options) (Content, error) {
	var c C
	if err := json.Unmarshal(raw, &c, opts); err != nil {
		return nil, fmt.Errorf("content of type %q: %w", c.kind(), err)
	}
	return c, nil
}

// MarshalJSONTo writes an array. A nil block is an error.
func (cs Contents) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for i, c := range cs {
		if c == nil {
			return fmt.Errorf("content %d is nil", i)
		}
		if err := json.MarshalEncode(enc, c); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndArray)
}

// UnmarshalJSONFrom reads an array of blocks, or one block.
func (cs *Contents) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case jsontext.KindBeginArray:
		return cs.decodeArray(dec)
	case jsontext.KindBeginObject:
		c, err := decodeNext(dec)
		if err != nil {
			return err
		}
		*cs = Contents{c}
		return nil
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	return fmt.Errorf("content: got %v, want an array of blocks", raw.Kind())
}

func (cs *Contents) decodeArray(dec *jsontext.Decoder) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	list := Contents{}
	for dec.PeekKind() != jsontext.KindEndArray {
		c, err := decodeNext(dec)
		if err != nil {
			return err
		}
		list = append(list, c)
	}
	*cs = list
	_, err := dec.ReadToken()
	return err
}

func decodeNext(dec *jsontext.Decoder) (Content, error) {
	raw, err := dec.ReadValue()
	if err != nil {
		return nil, err
	}
	return decodeContent(raw, dec.Options())
}

// tagged is the wire form of a block: its type, then its members.
type tagged[T any] struct {
	Type string `json:"type"`
	Body *T     `json:",embed"`
}

func encodeTagged[T any](enc *jsontext.Encoder, kind string, body *T) error {
	return json.MarshalEncode(enc, &tagged[T]{kind, body})
}

func decodeTagged[T any](dec *jsontext.Decoder, kind string, body *T) error {
	wire := tagged[T]{Body: body}
	if err := json.UnmarshalDecode(dec, &wire); err != nil {
		return err
	}
	if wire.Type != kind {
		return fmt.Errorf("content: got type %q, want %q", wire.Type, kind)
	}
	return nil
}

// MarshalJSONTo writes the type of the block before its other members.
func (c TextContent) MarshalJSONTo(enc *jsontext.Encoder) error {
	type body TextContent
	return encodeTagged(enc, c.kind(), (*body)(&c))
}

// UnmarshalJSONFrom wants a block of this type.
func (c *TextContent) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type body TextContent
	return decodeTagged(dec, c.kind(), (*body)(c))
}

// MarshalJSONTo writes the type of the block before its other members.
func (c ImageContent) MarshalJSONTo(enc *jsontext.Encoder) error {
	type body ImageContent
	return encodeTagged(enc, c.kind(), (*body)(&c))
}

// UnmarshalJSONFrom wants a block of this type.
func (c *ImageContent) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type body ImageContent
	return decodeTagged(dec, c.kind(), (*body)(c))
}

// MarshalJSONTo writes the type of the block before its other members.
func (c AudioContent) MarshalJSONTo(enc *jsontext.Encoder) error {
	type body AudioContent
	return encodeTagged(enc, c.kind(), (*body)(&c))
}

// UnmarshalJSONFrom wants a block of this type.
func (c *AudioContent) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type body AudioContent
	return decodeTagged(dec, c.kind(), (*body)(c))
}

// MarshalJSONTo writes the type of the block before its other members.
func (c ResourceLink) MarshalJSONTo(enc *jsontext.Encoder) error {
	type body ResourceLink
	return encodeTagged(enc, c.kind(), (*body)(&c))
}

// UnmarshalJSONFrom wants a block of this type.
func (c *ResourceLink) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type body ResourceLink
	return decodeTagged(dec, c.kind(), (*body)(c))
}

// MarshalJSONTo writes the type of the block before its other members.
func (c EmbeddedResource) MarshalJSONTo(enc *jsontext.Encoder) error {
	type body EmbeddedResource
	return encodeTagged(enc, c.kind(), (*body)(&c))
}

// UnmarshalJSONFrom wants a block of this type.
func (c *EmbeddedResource) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type body EmbeddedResource
	return decodeTagged(dec, c.kind(), (*body)(c))
}

// MarshalJSONTo writes the type of the block before its other members.
func (c ToolUseContent) MarshalJSONTo(enc *jsontext.Encoder) error {
	type body ToolUseContent
	return encodeTagged(enc, c.kind(), (*body)(&c))
}

// UnmarshalJSONFrom wants a block of this type.
func (c *ToolUseContent) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type body ToolUseContent
	return decodeTagged(dec, c.kind(), (*body)(c))
}

// MarshalJSONTo writes the type of the block before its other members.
func (c ToolResultContent) MarshalJSONTo(enc *jsontext.Encoder) error {
	type body ToolResultContent
	return encodeTagged(enc, c.kind(), (*body)(&c))
}

// UnmarshalJSONFrom reads a block of this type whose own content has no
// tool_use or tool_result blocks. So blocks nest at most once, and decoding
// takes linear time.
func (c *ToolResultContent) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type body ToolResultContent
	wire := struct {
		*body   `json:",embed"`
		Content []jsontext.Value `json:"content"`
	}{body: (*body)(c)}
	if err := decodeTagged(dec, c.kind(), &wire); err != nil {
		return err
	}
	c.Content = make(Contents, len(wire.Content))
	for i, raw := range wire.Content {
		var err error
		if c.Content[i], err = decodeInToolResult(raw, dec.Options()); err != nil {
			return err
		}
	}
	return nil
}

func decodeInToolResult(raw jsontext.Value, opts json.Options) (Content, error) {
	kind, err := kindOf(raw, opts)
	if err != nil {
		return nil, err
	}
	if kind == kindToolUse || kind == kindToolResult {
		return nil, fmt.Errorf("content of type %q inside of a tool result", kind)
	}
	return decodeContent(raw, opts)
}

// MarshalJSONTo writes Raw.
func (c UnknownContent) MarshalJSONTo(enc *jsontext.Encoder) error {
	if len(c.Raw) == 0 {
		return fmt.Errorf("content of type %q: raw is empty", c.Type)
	}
	return enc.WriteValue(c.Raw)
}
