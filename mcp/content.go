package mcp

import (
	"encoding/json/jsontext"
	"fmt"
	"strings"
)

// Content is one block of content in a tool result, a prompt or a sampling
// message. A block of a kind that this version does not know is decoded as an
// UnknownContent.
//
// Blocks are values: write TextContent{…} and not &TextContent{…}, and switch
// on the value types.
//
// Spec: 2026-07-28 schema#contentblock
type Content interface {
	// kind returns the "type" member of the block.
	kind() string
}

// The kinds of content on the wire.
const (
	kindText         = "text"
	kindImage        = "image"
	kindAudio        = "audio"
	kindResourceLink = "resource_link"
	kindResource     = "resource"
	kindToolUse      = "tool_use"
	kindToolResult   = "tool_result"
)

// Contents is a list of content blocks. It is encoded as an array, never as
// null. It is decoded from an array, or from a single block, the form that some
// revisions use in sampling for a list of one.
type Contents []Content

// Text returns the text blocks, joined by newlines. It skips blocks of other
// kinds.
func (cs Contents) Text() string {
	var texts []string
	for _, c := range cs {
		if t, ok := c.(TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// TextContent is text.
type TextContent struct {
	Text        string       `json:"text"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Meta        Meta         `json:"_meta,omitempty"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// Text returns s as content.
func Text(s string) TextContent { return TextContent{Text: s} }

// Textf returns formatted text as content.
func Textf(format string, args ...any) TextContent { return Text(fmt.Sprintf(format, args...)) }

// ImageContent is an image.
type ImageContent struct {
	// Data holds the bytes of the image. They are encoded as padded base64.
	Data        []byte       `json:"data"`
	MIMEType    string       `json:"mimeType"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Meta        Meta         `json:"_meta,omitempty"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// Image returns an image as content. It keeps data and does not copy it.
func Image(data []byte, mimeType string) ImageContent {
	return ImageContent{Data: data, MIMEType: mimeType}
}

// AudioContent is an audio clip.
type AudioContent struct {
	// Data holds the bytes of the audio. They are encoded as padded base64.
	Data        []byte       `json:"data"`
	MIMEType    string       `json:"mimeType"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Meta        Meta         `json:"_meta,omitempty"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// Audio returns an audio clip as content. It keeps data and does not copy it.
func Audio(data []byte, mimeType string) AudioContent {
	return AudioContent{Data: data, MIMEType: mimeType}
}

// ResourceLink points to a resource that the client can read. The resource
// need not be in the list of resources.
type ResourceLink struct {
	Resource
}

// Link returns a link to the resource with the given URI and name.
func Link(uri, name string) ResourceLink {
	return ResourceLink{Resource{URI: uri, Name: name}}
}

// EmbeddedResource carries the contents of a resource.
type EmbeddedResource struct {
	Resource    ResourceContents `json:"resource"`
	Annotations *Annotations     `json:"annotations,omitzero"`
	Meta        Meta             `json:"_meta,omitempty"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// Embed returns the contents of a resource as content.
func Embed(contents ResourceContents) EmbeddedResource {
	return EmbeddedResource{Resource: contents}
}

// ToolUseContent is a model's request to call a tool.
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
type ToolUseContent struct {
	// ID is repeated as ToolUseID of the ToolResultContent that answers.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Input holds the arguments: a JSON object that must be set.
	Input jsontext.Value `json:"input"`
	Meta  Meta           `json:"_meta,omitempty"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// ToolResultContent is the result of a tool call, for a model.
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
type ToolResultContent struct {
	// ToolUseID is the ID of the ToolUseContent that is answered.
	ToolUseID string   `json:"toolUseId"`
	Content   Contents `json:"content"`
	// StructuredContent is any JSON value. Nil means absent; the JSON value
	// null is a value.
	StructuredContent jsontext.Value `json:"structuredContent,omitzero"`
	IsError           bool           `json:"isError,omitzero"`
	Meta              Meta           `json:"_meta,omitempty"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// UnknownContent is a block of a kind that this version does not know. It is
// encoded unchanged.
type UnknownContent struct {
	// Type is the kind of the block. It is informational; Raw is what is
	// encoded.
	Type string
	// Raw is the whole block, including its type.
	Raw jsontext.Value
}

func (TextContent) kind() string       { return kindText }
func (ImageContent) kind() string      { return kindImage }
func (AudioContent) kind() string      { return kindAudio }
func (ResourceLink) kind() string      { return kindResourceLink }
func (EmbeddedResource) kind() string  { return kindResource }
func (ToolUseContent) kind() string    { return kindToolUse }
func (ToolResultContent) kind() string { return kindToolResult }
func (c UnknownContent) kind() string  { return c.Type }
