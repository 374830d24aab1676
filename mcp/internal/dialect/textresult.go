package dialect

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"unicode/utf8"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// textResult is a tool result that has only text and structured content, like most
// results. It is encoded directly into the reply, without an intermediate
// copy.
type textResult struct {
	texts      []rawjson.Text
	structured jsontext.Value
	isError    bool
	one        [1]rawjson.Text // avoids an allocation for the usual single text
}

// textResultOf returns nil for a result with any other member or content.
func (f *Facts) textResultOf(r *mcp.CallToolResult) *textResult {
	if r.ResultType != "" || len(r.Meta) > 0 || len(r.Extra) > 0 {
		return nil
	}
	p := &textResult{structured: r.StructuredContent, isError: r.IsError}
	p.texts = p.one[:0]
	for _, c := range r.Content {
		content, ok := c.(mcp.TextContent)
		if !ok || content.Annotations != nil || len(content.Meta) > 0 || len(content.Extra) > 0 {
			return nil
		}
		text, ok := rawjson.TextOf(content.Text)
		if !ok {
			return nil
		}
		p.texts = append(p.texts, text)
	}
	if r.StructuredContent != nil && !(f.carries(r.StructuredContent) && isLine(r.StructuredContent)) {
		return nil
	}
	return p
}

// written are the limits of an author's value that is written unchanged.
var written = rawjson.Limits{Depth: 128, Elements: 100_000}

// isLine reports whether an author's value is strict JSON on one line.
func isLine(v []byte) bool {
	return bytes.IndexByte(v, '\n') < 0 && bytes.IndexByte(v, '\r') < 0 && rawjson.Accepts(v, written)
}

// size returns the approximate size of the result in bytes, without parts of
// more than maxInline bytes.
func (p *textResult) size(maxInline int) int {
	size := len(`"content":[],"structuredContent":,"isError":true`) + len(p.structured)
	for _, text := range p.texts {
		size += len(`{"type":"text","text":""},`)
		if text.Size() <= maxInline {
			size += text.Size()
		}
	}
	return size
}

// appendTo adds the members of the result to a reply. It always copies
// structured content, because its author could change it before it is sent.
func (p *textResult) appendTo(r *Reply, maxInline int) {
	r.add(`"content":[`)
	for i, text := range p.texts {
		if i > 0 {
			r.add(`,`)
		}
		r.add(`{"type":"text","text":"`)
		if text.Size() > maxInline {
			r.insert(Part{Text: text})
		} else {
			r.Body = text.Append(r.Body)
		}
		r.add(`"}`)
	}
	r.add(`]`)
	if len(p.structured) > 0 {
		r.add(`,"structuredContent":`)
		r.Body = append(r.Body, p.structured...)
	}
	if p.isError {
		r.add(`,"isError":true`)
	}
}

// isPlainCall reports whether the params of a call have only the name of a tool
// and arguments, like most calls, and can be written unchanged.
func isPlainCall(p *mcp.CallToolParams) bool {
	return p.InputResponses == nil && p.RequestState == nil && p.Task == nil && len(p.Meta) == 0 &&
		utf8.ValidString(p.Name) && (p.Arguments == nil || isLine(p.Arguments))
}

// plainCall encodes the params of a plain call.
func plainCall(p *mcp.CallToolParams) []byte {
	const around = len(`{"name":"","arguments":}`)
	dst := make([]byte, 0, around+len(p.Name)+len(p.Arguments))
	dst = rawjson.AppendString(append(dst, `{"name":`...), p.Name)
	if p.Arguments != nil {
		dst = append(append(dst, `,"arguments":`...), p.Arguments...)
	}
	return append(dst, '}')
}

// Decode decodes a result into a pointer to its type.
func Decode(result jsontext.Value, out any) error {
	if tool, ok := out.(*mcp.CallToolResult); ok && readPlain(result, tool) {
		return nil
	}
	return json.Unmarshal(result, out)
}

// readPlain decodes a tool result that has only text and structured content. It
// reports false for every other result and then changes nothing.
func readPlain(raw jsontext.Value, out *mcp.CallToolResult) bool {
	if raw.Kind() != '{' {
		return false
	}
	var r mcp.CallToolResult
	for name, value := range rawjson.Members(raw) {
		ok := true
		switch string(name) {
		case "resultType":
			ok = string(value) == `"complete"`
			r.ResultType = mcp.ResultComplete
		case "_meta":
			r.Meta, ok = readMeta(value)
		case "content":
			r.Content, ok = readTexts(value)
		case "structuredContent":
			r.StructuredContent = value
		case "isError":
			ok = value.Kind() == 't' || value.Kind() == 'f'
			r.IsError = value.Kind() == 't'
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	*out = r
	return true
}

func readMeta(raw jsontext.Value) (meta mcp.Meta, ok bool) {
	for name, value := range rawjson.Members(raw) {
		if string(name) != keyServerInfo {
			return nil, false
		}
		meta = mcp.Meta{keyServerInfo: value}
	}
	return meta, raw.Kind() == '{'
}

func readTexts(raw jsontext.Value) (texts mcp.Contents, ok bool) {
	texts = mcp.Contents{}
	for block := range rawjson.Elements(raw) {
		text, ok := readText(block)
		if !ok {
			return nil, false
		}
		texts = append(texts, text)
	}
	return texts, raw.Kind() == '['
}

func readText(raw jsontext.Value) (t mcp.TextContent, ok bool) {
	found := 0
	for name, value := range rawjson.Members(raw) {
		switch {
		case string(name) == "type" && string(value) == `"text"`:
		case string(name) == "text" && value.Kind() == '"':
			t.Text = string(rawjson.Unquote(value))
		default:
			return t, false
		}
		found++
	}
	return t, found == 2
}
