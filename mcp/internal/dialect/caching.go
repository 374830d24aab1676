package dialect

import (
	"encoding/json/jsontext"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// cacheable are the requests whose results carry caching hints where the
// revision has them.
//
// Spec: 2026-07-28 server/utilities/caching
var cacheable = set([]string{
	mcp.MethodDiscover, mcp.MethodToolsList, mcp.MethodPromptsList,
	mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodResourcesRead,
})

// Cacheable reports whether results of the method carry caching hints.
func Cacheable(method string) bool { return cacheable[method] }

// CacheKey says what a result is the answer to. Equal keys of one client are
// equal questions.
type CacheKey struct {
	Method string
	// Name is the URI of resources/read, and otherwise empty.
	Name string
	// Params in canonical form, without metadata.
	Params string
}

// CacheKey returns the key under which a result of the request may be kept. It
// reports false when the result must neither be kept nor come from a cache: the
// revision has no hints for it, the request carries answers, or metadata of the
// user's that may change the result.
func (r *Request) CacheKey() (CacheKey, bool) {
	if !r.client.Facts.Envelope || !cacheable[r.Method] || !tracesOnly(braced(r.user)) {
		return CacheKey{}, false
	}
	params := braced(r.members)
	if rawjson.Member(params, "inputResponses") != nil || rawjson.Member(params, "requestState") != nil {
		return CacheKey{}, false
	}
	if params.Canonicalize(jsontext.CanonicalizeRawInts(false)) != nil {
		return CacheKey{}, false
	}
	name, _ := bodyName(nameMember(r.Method, nil), params)
	return CacheKey{Method: r.Method, Name: name, Params: string(params)}, true
}

// tracesOnly reports whether metadata is nothing but the trace context, on which
// no result depends.
func tracesOnly(meta jsontext.Value) bool {
	for key := range rawjson.Members(meta) {
		switch string(key) {
		case mcp.MetaTraceparent, mcp.MetaTracestate, mcp.MetaBaggage:
		default:
			return false
		}
	}
	return true
}

// braced returns members as an object.
func braced(members []byte) jsontext.Value {
	object := make(jsontext.Value, 0, len(members)+2)
	return append(append(append(object, '{'), members...), '}')
}
