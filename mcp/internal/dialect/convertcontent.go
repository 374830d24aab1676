package dialect

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"slices"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// callToolResult converts a tool's result to the revision. It removes
// structured content that the revision cannot express; the text block that
// repeats it remains.
func (f *Facts) callToolResult(v *mcp.CallToolResult) any {
	out := *v
	out.Content, out.StructuredContent = f.toolOutput(v.Content, v.StructuredContent)
	return &out
}

// toolOutput converts the content and the structured content of a tool's result
// to the revision.
func (f *Facts) toolOutput(cs mcp.Contents, structured jsontext.Value) (mcp.Contents, jsontext.Value) {
	cs = f.content(cs)
	if len(structured) == 0 || f.carries(structured) {
		return cs, structured
	}
	if len(cs) == 0 {
		cs = mcp.Contents{mcp.Text(string(structured))}
	}
	return cs, nil
}

// carries reports whether the revision allows this value as structured content.
func (f *Facts) carries(structured jsontext.Value) bool {
	return f.Structured == AnyStructured || f.Structured == ObjectStructured && structured.Kind() == '{'
}

// content converts each block of a kind that the revision does not have to a
// kind that it has. It returns cs itself if nothing changes.
func (f *Facts) content(cs mcp.Contents) mcp.Contents {
	if f.MetaOnListed && f.Audio && f.ResourceLinks && f.Icons && f.Structured == AnyStructured && !anyMeta(cs) {
		return cs
	}
	out := make(mcp.Contents, len(cs))
	for i, c := range cs {
		out[i] = f.block(c)
	}
	return out
}

// anyMeta reports whether a block has metadata, which must be cleaned.
func anyMeta(cs mcp.Contents) bool {
	for _, c := range cs {
		switch c := c.(type) {
		case mcp.TextContent:
			if len(c.Meta) > 0 || c.Annotations != nil {
				return true
			}
		case mcp.UnknownContent:
			if bytes.Contains(c.Raw, []byte(`_meta"`)) {
				return true
			}
		default:
			return true
		}
	}
	return false
}

func (f *Facts) block(c mcp.Content) mcp.Content {
	switch c := c.(type) {
	case mcp.TextContent:
		c.Annotations, c.Meta = f.annotations(c.Annotations), f.listedMeta(c.Meta)
		return c
	case mcp.ImageContent:
		c.Annotations, c.Meta = f.annotations(c.Annotations), f.listedMeta(c.Meta)
		return c
	case mcp.AudioContent:
		c.Annotations, c.Meta = f.annotations(c.Annotations), f.listedMeta(c.Meta)
		if !f.Audio {
			return audioAsResource(c)
		}
		return c
	case mcp.ResourceLink:
		if !f.ResourceLinks {
			return linkAsText(c)
		}
		c.Resource = f.resource(c.Resource)
		return c
	case mcp.EmbeddedResource:
		c.Annotations, c.Meta = f.annotations(c.Annotations), f.listedMeta(c.Meta)
		c.Resource = f.contents(c.Resource)
		return c
	case mcp.ToolUseContent:
		c.Meta = f.listedMeta(c.Meta)
		return c
	case mcp.ToolResultContent:
		c.Content, c.StructuredContent = f.toolOutput(c.Content, c.StructuredContent)
		c.Meta = f.listedMeta(c.Meta)
		return c
	case mcp.UnknownContent:
		c.Raw = f.unknownBlock(c.Raw)
		return c
	}
	return c
}

// unknownBlock returns a block of a kind that no revision has with the metadata that may be sent.
func (f *Facts) unknownBlock(raw jsontext.Value) jsontext.Value {
	old := rawjson.Member(raw, "_meta")
	if old == nil {
		return raw
	}
	var meta mcp.Meta
	if json.Unmarshal(old, &meta) != nil {
		return withMember(raw, "_meta", nil)
	}
	kept := f.listedMeta(meta)
	if len(kept) == len(meta) {
		return raw
	}
	encoded, err := json.Marshal(kept, json.Deterministic(true))
	if err != nil || len(kept) == 0 {
		encoded = nil
	}
	return withMember(raw, "_meta", encoded)
}

// withMember returns an object with another value of a member, at its end, or without it if the value is nil.
func withMember(object jsontext.Value, name string, value jsontext.Value) jsontext.Value {
	out := make([]byte, 0, len(object)+len(name)+len(value)+4)
	out = append(out, '{')
	for key, old := range rawjson.Members(object) {
		if string(key) != name {
			out = append(appendKey(out, string(key)), old...)
		}
	}
	if value != nil {
		out = append(appendKey(out, name), value...)
	}
	return append(out, '}')
}

// audioAsResource converts audio to an embedded resource, for revisions without
// audio content.
func audioAsResource(c mcp.AudioContent) mcp.Content {
	uri := "data:" + c.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(c.Data)
	if len(uri) > 256 {
		uri = "data:" + c.MIMEType
	}
	embedded := mcp.Embed(mcp.ResourceContents{URI: uri, MIMEType: c.MIMEType, Blob: c.Data})
	embedded.Annotations = c.Annotations
	return embedded
}

func linkAsText(c mcp.ResourceLink) mcp.Content {
	t := mcp.Text(c.URI)
	if name := c.DisplayName(); name != "" && name != c.URI {
		t = mcp.Textf("%s: %s", name, c.URI)
	}
	return t
}

// annotations converts hints to the revision. Hints that no revision has, which are those of other servers, are
// left out alone: many clients would refuse the whole result, or the whole list.
func (f *Facts) annotations(a *mcp.Annotations) *mcp.Annotations {
	if a == nil {
		return nil
	}
	unknown := func(r mcp.Role) bool { return r != mcp.RoleUser && r != mcp.RoleAssistant }
	out := *a
	if !f.LastModified {
		out.LastModified = ""
	}
	if a.Priority != nil && !(*a.Priority >= 0 && *a.Priority <= 1) {
		out.Priority = nil
	}
	if slices.ContainsFunc(a.Audience, unknown) {
		out.Audience = slices.DeleteFunc(slices.Clone(a.Audience), unknown)
	}
	return &out
}

func (f *Facts) contents(c mcp.ResourceContents) mcp.ResourceContents {
	c.Meta = f.listedMeta(c.Meta)
	return c
}

func (f *Facts) promptMessage(m mcp.PromptMessage) mcp.PromptMessage {
	m.Content = f.block(m.Content)
	return m
}

// elicit converts an elicitation request to the revision: modes, titled choices
// and most defaults exist since 2025-11-25, elicitationId in that revision
// only.
func (f *Facts) elicit(v *mcp.ElicitParams) any {
	out := *v
	if !f.ElicitURL {
		out.Mode = ""
	}
	if !f.RichForms {
		out.RequestedSchema = plainForm(v.RequestedSchema)
	}
	if f.Era == StatelessEra {
		out.ElicitationID = ""
	}
	return &out
}

// identified returns a URL elicitation with the elicitationId that the revision
// requires.
func (f *Facts) identified(v *mcp.ElicitParams) *mcp.ElicitParams {
	if f.Era == StatelessEra || v.Mode != mcp.ElicitURL || v.ElicitationID != "" {
		return v
	}
	out := *v
	out.ElicitationID = rand.Text()
	return &out
}
