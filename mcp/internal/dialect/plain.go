package dialect

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"unicode/utf8"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// plain is the result of a tool that is text and structured content and nothing
// else, as most are. It is written as it is, when it is sealed.
type plain struct {
	texts      []rawjson.Text
	structured jsontext.Value
	isError    bool
	one        [1]rawjson.Text // which the texts mostly are
}

// plainResult returns nil for a result that is not plain.
func (f *Facts) plainResult(r *mcp.CallToolResult) *plain {
	if r.ResultType != "" || len(r.Meta) > 0 || len(r.Extra) > 0 {
		return nil
	}
	p := &plain{structured: r.StructuredContent, isError: r.IsError}
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

// written bounds a value that is written as the author gave it.
var written = rawjson.Limits{Depth: 128, Elements: 100_000}

// isLine reports whether a value of the author's is strict JSON on one line.
func isLine(v []byte) bool {
	return bytes.IndexByte(v, '\n') < 0 && bytes.IndexByte(v, '\r') < 0 && rawjson.Accepts(v, written)
}

// size is about how many bytes the result has, not counting parts of more than most.
func (p *plain) size(most int) int {
	size := len(`"content":[],"structuredContent":,"isError":true`) + len(p.structured)
	for _, text := range p.texts {
		size += len(`{"type":"text","text":""},`)
		if text.Size() <= most {
			size += text.Size()
		}
	}
	return size
}

// seal writes the members of the result into a reply. Structured content is copied
// whatever its size: until it is sent, its author could change it.
func (p *plain) seal(r *Reply, most int) {
	r.add(`"content":[`)
	for i, text := range p.texts {
		if i > 0 {
			r.add(`,`)
		}
		r.add(`{"type":"text","text":"`)
		if text.Size() > most {
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

// isPlainCall reports whether the params of a call are the name of a tool and
// arguments and nothing else, as most are, and may be written as they are.
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

// readPlain reads the result of a tool that is text and structured content and
// nothing else. It reports false, having read nothing, for every other.
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
