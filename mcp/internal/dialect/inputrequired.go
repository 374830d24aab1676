package dialect

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"slices"
	"unicode/utf8"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// The functions of this file encode and decode the messages of a round in their usual
// form, without reflection. A plain… function returns nil, and a read… function false,
// for any other form, which encoding/json then encodes, decodes or refuses.
//
// Spec: 2026-07-28 basic/patterns/mrtr

// appendName appends the name of the next member to an object whose text so far is dst. The
// name has no characters to escape.
func appendName(dst []byte, name string) []byte {
	return append(append(append(appendComma(dst), '"'), name...), `":`...)
}

// appendKey is appendName for any name.
func appendKey(dst []byte, key string) []byte {
	return append(rawjson.AppendString(appendComma(dst), key), ':')
}

// appendComma appends a comma unless the object has no member yet.
func appendComma(dst []byte) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '{' {
		return append(dst, ',')
	}
	return dst
}

// appendText appends a member that is a string.
func appendText(dst []byte, name, value string) []byte {
	return rawjson.AppendString(appendName(dst, name), value)
}

// appendValue appends a member whose value is encoded.
func appendValue(dst []byte, name string, value []byte) []byte {
	return append(appendName(dst, name), value...)
}

// plainInputRequired encodes the members of the result, without its type.
func plainInputRequired(r *mcp.InputRequiredResult) []byte {
	if len(r.Meta) > 0 || r.RequestState != nil && !utf8.ValidString(*r.RequestState) {
		return nil
	}
	size := len(`"inputRequests":{},"requestState":""`)
	for key, q := range r.InputRequests {
		if !utf8.ValidString(key) || !utf8.ValidString(q.Method) || q.Params != nil && !isLine(q.Params) {
			return nil
		}
		size += len(key) + len(q.Method) + len(q.Params) + len(`,"":{"method":"","params":}`)
	}
	if r.RequestState != nil {
		size += len(*r.RequestState)
	}
	dst := make([]byte, 0, size)
	if r.InputRequests != nil {
		var few [4]string
		dst = append(appendName(dst, "inputRequests"), '{')
		for _, key := range sortedKeys(r.InputRequests, few[:0]) {
			q := r.InputRequests[key]
			dst = appendText(append(appendKey(dst, key), '{'), "method", q.Method)
			if q.Params != nil {
				dst = appendValue(dst, "params", q.Params)
			}
			dst = append(dst, '}')
		}
		dst = append(dst, '}')
	}
	if r.RequestState != nil {
		dst = appendText(dst, "requestState", *r.RequestState)
	}
	return dst
}

// sortedKeys appends the keys of a map to keys, which is empty, in order.
func sortedKeys[V any](m map[string]V, keys []string) []string {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// plainInputResponses encodes the members that a request has in its later rounds.
func plainInputResponses(in *mcp.InputResponseParams) []byte {
	if in.RequestState != nil && !utf8.ValidString(*in.RequestState) {
		return nil
	}
	size := len(`"inputResponses":{},"requestState":""`)
	for key, answer := range in.InputResponses {
		if !utf8.ValidString(key) || !isLine(answer) {
			return nil
		}
		size += len(key) + len(answer) + len(`,"":`)
	}
	if in.RequestState != nil {
		size += len(*in.RequestState)
	}
	dst := make([]byte, 0, size)
	if in.InputResponses != nil {
		dst = append(appendName(dst, "inputResponses"), '{')
		for _, key := range sortedKeys(in.InputResponses, nil) {
			dst = append(appendKey(dst, key), in.InputResponses[key]...)
		}
		dst = append(dst, '}')
	}
	if in.RequestState != nil {
		dst = appendText(dst, "requestState", *in.RequestState)
	}
	return dst
}

// plainElicitation encodes the params of an elicitation for the stateless era.
func plainElicitation(p *mcp.ElicitParams) []byte {
	if p.ElicitationID != "" || p.Task != nil || len(p.Meta) > 0 || p.RequestedSchema != nil && !isLine(p.RequestedSchema) ||
		!utf8.ValidString(p.Message) || !utf8.ValidString(p.URL) || !utf8.ValidString(string(p.Mode)) {
		return nil
	}
	const around = len(`{"mode":"form","message":"","requestedSchema":,"url":""}`)
	dst := append(make([]byte, 0, around+len(p.Message)+len(p.RequestedSchema)+len(p.URL)), '{')
	if p.Mode != "" {
		dst = appendText(dst, "mode", string(p.Mode))
	}
	dst = appendText(dst, "message", p.Message)
	if p.RequestedSchema != nil {
		dst = appendValue(dst, "requestedSchema", p.RequestedSchema)
	}
	if p.URL != "" {
		dst = appendText(dst, "url", p.URL)
	}
	return append(dst, '}')
}

// DecodeQuestion decodes the params of a question as its DecodeParams does. They may share
// memory with the question.
func DecodeQuestion(q mcp.InputRequest) (any, error) {
	if q.Method == mcp.MethodElicit {
		if p, ok := readElicitation(q.Params); ok {
			return p, nil
		}
	}
	return q.DecodeParams()
}

func readElicitation(params jsontext.Value) (*mcp.ElicitParams, bool) {
	p, usual := new(mcp.ElicitParams), true
	accepted := rawjson.Object(params, written, func(name, value []byte) {
		kind := jsontext.Value(value).Kind()
		switch string(name) {
		case "mode":
			usual = usual && string(value) == `"form"`
			p.Mode = mcp.ElicitForm
		case "message":
			usual = usual && kind == '"'
			p.Message = string(rawjson.Unquote(value))
		case "requestedSchema":
			usual = usual && kind == '{'
			p.RequestedSchema = value
		default:
			usual = false
		}
	})
	return p, accepted && usual
}

// appendElicitResult appends the answer of a user to dst.
func appendElicitResult(dst []byte, r *mcp.ElicitResult) ([]byte, error) {
	if r.ResultType != "" || len(r.Meta) > 0 || r.Content != nil && !isLine(r.Content) || !utf8.ValidString(string(r.Action)) {
		raw, err := json.Marshal(r)
		return append(dst, raw...), err
	}
	const around = len(`{"action":"","content":}`)
	dst = slices.Grow(dst, around+len(r.Action)+len(r.Content))
	dst = appendText(append(dst, '{'), "action", string(r.Action))
	if r.Content != nil {
		dst = appendValue(dst, "content", r.Content)
	}
	return append(dst, '}'), nil
}

// DecodeElicitResult decodes the answer of a user, which is strict JSON. Its content
// shares memory with it.
func DecodeElicitResult(answer jsontext.Value) (mcp.ElicitResult, error) {
	r, ok := readElicitResult(answer)
	if !ok {
		var decoded mcp.ElicitResult
		err := json.Unmarshal(answer, &decoded)
		return decoded, err
	}
	return r, nil
}

func readElicitResult(answer jsontext.Value) (r mcp.ElicitResult, usual bool) {
	usual = answer.Kind() == '{'
	for name, value := range rawjson.Members(answer) {
		switch string(name) {
		case "action":
			usual = usual && value.Kind() == '"'
			r.Action = actionName(rawjson.Unquote(value))
		case "content":
			r.Content = value
		default:
			usual = false
		}
	}
	return r, usual
}

// actionName returns the name of an action without a copy if the protocol defines it.
func actionName(name []byte) mcp.ElicitAction {
	for _, known := range [...]mcp.ElicitAction{mcp.ElicitAccept, mcp.ElicitDecline, mcp.ElicitCancel} {
		if string(known) == string(name) {
			return known
		}
	}
	return mcp.ElicitAction(name)
}
