package mcpserver

import (
	"context"
	"fmt"
	"iter"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/changes"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/registry"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// Request handles one request, on the goroutine that the transport calls it on. A call of
// a tool runs these functions, each with its file. Those marked with * are on the stack of
// the author's function, in both eras; the others return before it runs or run after it:
//
//	transport: stdio line, HTTP POST, memory           limits of size, depth and time
//	 └─ jsonrpc.Decode                                 kind, id, method, raw params
//	     └─ Request *                serve.go
//	         ├─ dialect.Open                           era, revision, _meta, headers → dialect.Call
//	         ├─ route *              serve.go          the whole of a request
//	         │   ├─ lookup           route.go          finds the handler of the method and the middleware
//	         │   ├─ admit            admission.go      rates, then a slot among the running calls
//	         │   │   └─ waitForPlace answerprecedence.go  if there is none
//	         │   ├─ authorize        serve.go          the scopes of the method and of the named features
//	         │   │   └─ RequireScopes scopes.go        refuses with the scopes that are missing
//	         │   ├─ beginRun         round.go          opens requestState
//	         │   │   ├─ readState    requeststate.go   decrypts it, unless waitForPlace has done it
//	         │   │   └─ openMemory   requeststate.go   decodes it, or what is in the Store for it
//	         │   ├─ handle *         serve.go          calls the middleware
//	         │   │   └─ run *        route.go          layer by layer, then the handler:
//	         │   │       └─ callTool * toolcall.go     looks up the tool
//	         │   │           ├─ validate arguments.go  by the input schema
//	         │   │           └─ perform * toolcall.go  a whole call, inside of the options Wrap
//	         │   │               ├─ runHandler * round.go  passes the answers of the client to the handler
//	         │   │               │   └─ runTool * toolcall.go  rate, slot and timeout of the tool
//	         │   │               │       └─ typedTool * tool.go  decodes the arguments, encodes the result
//	         │   │               │           └─ the author's function
//	         │   │               └─ outcome  toolcall.go  checked result, or the error as a result
//	         │   └─ endRun           round.go          open questions override the result
//	         ├─ encode               serve.go          the form of the revision, of limited size
//	         ├─ publicError          errormapping.go    the part of an error that the peer may see
//	         └─ dialect.Call.Reply                     envelope, error number
//	 └─ transport writes                               one buffer, one write; over HTTP large results in parts
func (c core) Request(ctx context.Context, in *exchange.Inbound) dialect.Reply {
	call, err := c.dialect.Open(in.Message, in.TransportInfo())
	if err != nil {
		return call.Reply(nil, err)
	}
	result, err := c.route(ctx, call, in)
	if err != nil {
		return call.Reply(nil, c.publicError(ctx, call, err))
	}
	encoded, err := c.encode(call, in.Principal(), result)
	return call.Reply(encoded, c.publicError(ctx, call, err))
}

// encode encodes a result in the form of the caller's revision. A result that is too large
// or cannot be encoded, such as text that is not UTF-8, is a mistake of the author of the
// server. The error is private: the caller does not get the reason.
func (s *Server) encode(call *dialect.Call, who mcp.Principal, result any) (e *dialect.Encoded, err error) {
	defer usercode.Contain(&err) // user types encode themselves
	e, err = call.Encode(result)
	switch {
	case err != nil:
	case e.Size() > s.options.maxResult():
		s.limits.Reached(mcp.LimitReached{Limit: mcp.LimitResultBytes, Principal: who, Method: call.Method})
		err = fmt.Errorf("the result has %d bytes, the limit is %d", e.Size(), s.options.maxResult())
	case !s.extensions.allowsResultType(call, e.Type()):
		err = fmt.Errorf("the result has the type %q, which the client does not know: want one of an extension that it declared", e.Type())
	}
	return e, err
}

// route admits and authorizes a request, then runs its middleware and handler.
func (s *Server) route(ctx context.Context, call *dialect.Call, in *exchange.Inbound) (result any, err error) {
	way := s.middleware.lookup(call)
	if way.handler == nil {
		return nil, mcp.Errorf(mcp.CodeMethodNotFound, "method %q: not found", call.Method)
	}
	if !s.requests.Enter() {
		return nil, exchange.ShuttingDown(call.Method)
	}
	defer s.requests.Leave()
	r := &Request{method: call.Method, ctx: ctx, route: way, call: call, in: in, server: s}
	if err := s.admit(r); err != nil {
		return nil, err
	}
	defer r.endSlot()
	defer r.end()
	defer usercode.Contain(&err)
	if err := s.authorize(r); err != nil {
		return nil, err
	}
	defer r.releaseRun()
	if err := r.beginRun(); err != nil {
		return nil, err
	}
	result, err = s.handle(r)
	return r.endRun(result, err)
}

// authorize refuses a request whose sender lacks one of the scopes that it requires: those
// of its method, and those of every feature that it names and that is visible to its
// sender. It is the same in all revisions and runs before capabilities and params are
// checked. The handlers check the scopes of the feature again, because middleware can
// change the name of the feature.
func (s *Server) authorize(r *Request) error {
	needs, snap := s.middleware.scopes(r.method), s.features.Snapshot()
	if snap.Scoped() {
		for f := range namedFeatures(snap, r) {
			needs = union(needs, f.Scopes)
		}
	}
	return r.RequireScopes(needs...)
}

// namedFeatures yields the features that a request names and that are visible to its
// sender. Params that cannot be decoded name none; the handler refuses them later.
func namedFeatures(s *registry.Snapshot, r *Request) iter.Seq[*common] {
	return func(yield func(*common) bool) {
		who := r.in.Identity
		switch r.method {
		case mcp.MethodToolsCall:
			if t, ok := registry.Lookup[*tool](s, registry.Tools, paramsOf[byName](r).Name, who); ok {
				yield(&t.common)
			}
		case mcp.MethodPromptsGet:
			if p, ok := registry.Lookup[*prompt](s, registry.Prompts, paramsOf[byName](r).Name, who); ok {
				yield(&p.common)
			}
		case mcp.MethodResourcesRead, mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe:
			if f := resourceAt(s, paramsOf[mcp.SubscribeParams](r).URI, who); f != nil {
				yield(&f.common)
			}
		case mcp.MethodComplete:
			if c, err := featureToComplete(s, r, paramsOf[mcp.CompleteParams](r)); err == nil {
				yield(c)
			}
		case mcp.MethodListen:
			uris := paramsOf[mcp.ListenParams](r).Notifications.ResourceSubscriptions
			for _, uri := range uris[:min(len(uris), changes.MaxResources)] { // more are refused
				if f := resourceAt(s, uri, who); f != nil && !yield(&f.common) {
					return
				}
			}
		}
	}
}

// byName is the part of params that names a tool or a prompt.
type byName struct {
	Name string `json:"name"`
}

// paramsOf returns the params of a request, or the zero value when they cannot be decoded.
func paramsOf[T any](r *Request) *T {
	p := new(T)
	if r.Decode(p) != nil {
		return new(T)
	}
	return p
}

// handle runs the middleware and the handler of a request that was admitted. While it
// runs, the request can be ended to free its slot for another owner.
func (s *Server) handle(r *Request) (result any, err error) {
	ctx := r.beginHandlers()
	if unmetered[r.method] {
		return r.route.run(ctx, r, 0)
	}
	s.admission.start(r)
	defer func() { result, err = s.admission.finish(r, result, err) }()
	return r.route.run(ctx, r, 0)
}

// coreHandlers returns the handlers of the methods that the protocol defines.
func (s *Server) coreHandlers() map[string]Handler {
	return map[string]Handler{
		mcp.MethodInitialize:            s.initialize,
		mcp.MethodDiscover:              s.discover,
		mcp.MethodPing:                  s.ping,
		mcp.MethodToolsList:             s.listTools,
		mcp.MethodToolsCall:             s.callTool,
		mcp.MethodResourcesList:         s.listResources,
		mcp.MethodResourceTemplatesList: s.listTemplates,
		mcp.MethodResourcesRead:         s.readResource,
		mcp.MethodResourcesSubscribe:    s.subscribe,
		mcp.MethodResourcesUnsubscribe:  s.unsubscribe,
		mcp.MethodListen:                s.listen,
		mcp.MethodPromptsList:           s.listPrompts,
		mcp.MethodPromptsGet:            s.getPrompt,
		mcp.MethodComplete:              s.complete,
		mcp.MethodSetLevel:              s.setLevel,
	}
}
