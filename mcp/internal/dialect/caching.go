package dialect

import (
	"encoding/json/jsontext"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// cacheable are the methods whose results have caching hints, in revisions that
// define them.
//
// Spec: 2026-07-28 server/utilities/caching
var cacheable = set([]string{
	mcp.MethodDiscover, mcp.MethodToolsList, mcp.MethodPromptsList,
	mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodResourcesRead,
})

// Cacheable reports whether results of the method carry caching hints.
func Cacheable(method string) bool { return cacheable[method] }

// CacheKey identifies a request for caching. Requests of one principal with equal
// keys have the same result.
type CacheKey struct {
	Method string
	// Name is the URI of resources/read, and otherwise empty.
	Name string
	// Params in canonical form, without metadata.
	Params string
	// Declared is what the client says of itself with each request: revision, capabilities
	// and name. A server may answer other clients otherwise.
	Declared string
}

// CacheKey returns the key to cache a result of the request. It reports false
// if the result must not be cached: the revision has no caching hints for it,
// or the request carries answers or user metadata that may change the result.
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
	return CacheKey{Method: r.Method, Name: name, Params: string(params), Declared: r.client.declared}, true
}

// tracesOnly reports whether metadata holds nothing but the trace context,
// which does not change results.
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

// braced returns members as a JSON object.
func braced(members []byte) jsontext.Value {
	object := make(jsontext.Value, 0, len(members)+2)
	return append(append(append(object, '{'), members...), '}')
}
