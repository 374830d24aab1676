package dialect

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"unicode/utf8"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// isPlain reports whether the result of a tool is text and structured content and
// nothing else, as most are, and may be written as it is.
func (f *Facts) isPlain(r *mcp.CallToolResult) bool {
	if r.ResultType != "" || len(r.Meta) > 0 || len(r.Extra) > 0 {
		return false
	}
	for _, c := range r.Content {
		text, ok := c.(mcp.TextContent)
		if !ok || text.Annotations != nil || len(text.Meta) > 0 || len(text.Extra) > 0 || !utf8.ValidString(text.Text) {
			return false
		}
	}
	return r.StructuredContent == nil || f.carries(r.StructuredContent) && isLine(r.StructuredContent)
}

// written bounds a value that is written as the author gave it.
var written = rawjson.Limits{Depth: 128, Elements: 100_000}

// isLine reports whether a value of the author's is strict JSON on one line.
func isLine(v []byte) bool {
	return bytes.IndexByte(v, '\n') < 0 && bytes.IndexByte(v, '\r') < 0 && rawjson.Accepts(v, written)
}

// plainSize is about how many bytes a plain result has.
func plainSize(r *mcp.CallToolResult) int {
	const around = len(`"content":[],"structuredContent":,"isError":true`)
	size := around + len(r.StructuredContent)
	for _, c := range r.Content {
		size += len(c.(mcp.TextContent).Text) + len(`{"type":"text","text":""},`)
	}
	return size
}

// appendPlain appends the members of a plain result.
func appendPlain(dst []byte, r *mcp.CallToolResult) []byte {
	dst = append(dst, `"content":[`...)
	for i, c := range r.Content {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":"text","text":`...)
		dst = rawjson.AppendString(dst, c.(mcp.TextContent).Text)
		dst = append(dst, '}')
	}
	dst = append(dst, ']')
	if len(r.StructuredContent) > 0 {
		dst = append(append(dst, `,"structuredContent":`...), r.StructuredContent...)
	}
	if r.IsError {
		dst = append(dst, `,"isError":true`...)
	}
	return dst
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
