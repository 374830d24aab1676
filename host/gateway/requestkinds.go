package gateway

import (
	"encoding/json/v2"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// requestKind is what the middlewares of the gateway have to know of a request.
type requestKind struct {
	names naming
	// uses says that the request uses the one feature that it names. It waits longer for upstreams that
	// start, and lists are read again if the feature is unknown.
	uses bool
}

// naming says how the params of a request name the features that it is about.
type naming int

const (
	_                   naming = iota // no feature
	namesAll                          // all features of a kind: the request is for a list
	namesByName                       // a tool or prompt: "name", which has the key of its upstream
	namesByURI                        // a resource: "uri", which may belong to any upstream
	namesByReference                  // a prompt or template: "ref"
	namesBySubscription               // resources: "notifications.resourceSubscriptions"
)

// requestKinds has the requests that the gateway handles. A request that is not here waits for no upstream.
var requestKinds = map[string]requestKind{
	mcp.MethodInitialize:            {},
	mcp.MethodDiscover:              {},
	mcp.MethodPing:                  {},
	mcp.MethodSetLevel:              {},
	mcp.MethodToolsList:             {names: namesAll},
	mcp.MethodToolsCall:             {names: namesByName, uses: true},
	mcp.MethodPromptsList:           {names: namesAll},
	mcp.MethodPromptsGet:            {names: namesByName, uses: true},
	mcp.MethodResourcesList:         {names: namesAll},
	mcp.MethodResourceTemplatesList: {names: namesAll},
	mcp.MethodResourcesRead:         {names: namesByURI, uses: true},
	mcp.MethodResourcesSubscribe:    {names: namesByURI},
	mcp.MethodResourcesUnsubscribe:  {}, // the subscription is known by its URI alone
	mcp.MethodListen:                {names: namesBySubscription},
	mcp.MethodComplete:              {names: namesByReference, uses: true},
}

// kindOf returns the kind of a request.
func kindOf(r *mcpserver.Request) requestKind { return requestKinds[r.Method()] }

// isList reports whether a request lists features.
func isList(r *mcpserver.Request) bool { return kindOf(r).names == namesAll }

// namedFeature has the params of a request that name a feature. Which of them count, its requestKind says.
type namedFeature struct {
	Name string        `json:"name"`
	URI  string        `json:"uri"`
	Ref  mcp.Reference `json:"ref"`
}

// decodeNamed returns the feature that a request names. It reports false if the params are not valid; the
// server refuses the request then.
func decodeNamed(r *mcpserver.Request) (f namedFeature, ok bool) {
	ok = json.Unmarshal(r.Params(), &f) == nil
	return f, ok
}
