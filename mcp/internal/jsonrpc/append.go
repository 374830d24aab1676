package jsonrpc

import (
	"bytes"
	"encoding/json/jsontext"
	"strconv"

	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// The append functions append one message to dst and return the extended slice. Raw values
// must be valid JSON. Line breaks in them, which valid JSON has only between tokens, become
// spaces, because some transports separate messages by line breaks.

// BeginCall appends the beginning of a request, or of a notification if the id is zero, up to
// its params. The caller must append an object without line breaks and a closing brace.
func BeginCall(dst []byte, id ID, method string) []byte {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	if !id.IsZero() {
		dst = append(append(append(dst, `"id":`...), id.raw...), ',')
	}
	dst = rawjson.AppendString(append(dst, `"method":`...), method)
	return append(dst, `,"params":`...)
}

// AppendRequest appends a request. The id must not be zero. Empty params are
// left out.
func AppendRequest(dst []byte, id ID, method string, params jsontext.Value) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id.raw...)
	dst = append(dst, ',')
	return appendCall(dst, method, params)
}

// AppendNotification appends a notification. Empty params are left out.
func AppendNotification(dst []byte, method string, params jsontext.Value) []byte {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	return appendCall(dst, method, params)
}

// AppendResult appends a response with a result. The id must not be zero. An
// empty result is written as {}.
func AppendResult(dst []byte, id ID, result jsontext.Value) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id.raw...)
	dst = append(dst, `,"result":`...)
	if len(result) == 0 {
		return append(dst, `{}}`...)
	}
	return append(appendRaw(dst, result), '}')
}

// AppendError appends a response with an error. It omits a zero id, because in MCP the id of
// such a response is optional and never null. It omits empty data, too.
//
// Spec: 2025-11-25 basic#responses
func AppendError(dst []byte, id ID, e *Error) []byte {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	if !id.IsZero() {
		dst = append(dst, `"id":`...)
		dst = append(dst, id.raw...)
		dst = append(dst, ',')
	}
	dst = append(dst, `"error":{"code":`...)
	dst = strconv.AppendInt(dst, e.Code, 10)
	dst = append(dst, `,"message":`...)
	dst = rawjson.AppendString(dst, e.Message)
	if len(e.Data) > 0 {
		dst = append(dst, `,"data":`...)
		dst = appendRaw(dst, e.Data)
	}
	return append(dst, `}}`...)
}

// appendCall appends the common members of requests and notifications.
func appendCall(dst []byte, method string, params jsontext.Value) []byte {
	dst = append(dst, `"method":`...)
	dst = rawjson.AppendString(dst, method)
	if len(params) > 0 {
		dst = append(dst, `,"params":`...)
		dst = appendRaw(dst, params)
	}
	return append(dst, '}')
}

// appendRaw appends a JSON text on one line. A carriage return counts as a line break, because
// some line readers treat it as one.
func appendRaw(dst []byte, raw jsontext.Value) []byte {
	start := len(dst)
	dst = append(dst, raw...)
	for _, lineBreak := range []byte{'\n', '\r'} {
		rest := dst[start:]
		for i := bytes.IndexByte(rest, lineBreak); i >= 0; i = bytes.IndexByte(rest, lineBreak) {
			rest[i] = ' '
			rest = rest[i+1:]
		}
	}
	return dst
}
