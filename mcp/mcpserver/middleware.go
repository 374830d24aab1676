package mcpserver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// Handler does one request. The result is a result type of the vocabulary or
// anything that encodes as a JSON object; nil is the empty result.
type Handler func(ctx context.Context, r *Request) (any, error)

// Middleware wraps the handling of every message: requests and notifications of
// clients, and with Outbound set the requests that the server sends to them.
// Calling next goes on; not calling it answers in its place.
type Middleware func(next Handler) Handler

// Use adds middleware around all methods. The first one added is the outermost.
// It is folded in here, not at each call; requests that are running are not
// affected.
func (s *Server) Use(m ...Middleware) { s.middleware.use(m) }

// Handle serves a method of one's own, in every revision. It panics when the
// method belongs to the protocol or is taken.
func (s *Server) Handle(method string, h Handler) {
	if err := s.middleware.custom(method, h); err != nil {
		panic("mcpserver: " + err.Error())
	}
}

// middleware is the table of handlers, plain and with the middleware folded in.
type middleware struct {
	mu      sync.Mutex
	plain   map[string]Handler // guarded by mu
	chain   []Middleware       // guarded by mu
	own     map[string]bool    // guarded by mu: methods added by the author
	changes int                // guarded by mu: how many there were

	extended map[string]extended // guarded by mu: messages of extensions
	needs    map[string][]string // guarded by mu: the scopes of methods

	folded atomic.Pointer[folding]
}

// folding is one immutable state of the table.
type folding struct {
	change int // that it takes in, with all before
	routes map[string]Handler
	custom map[string]bool
	wrap   Middleware

	extended map[string]extended
	needs    map[string][]string
}

// route returns the handler of a message, or nil. What the caller's revision has
// in its core goes before what an extension defines.
func (m *middleware) route(call *dialect.Call) Handler {
	f := m.folded.Load()
	if x, ok := f.extended[call.Method]; ok && x.owner.holds(call.Facts) {
		return x.handler
	}
	return f.routes[call.Method]
}

// hasCustom reports whether a method beyond the core of a revision is served
// there.
func (m *middleware) hasCustom(facts *dialect.Facts, method string) bool {
	f := m.folded.Load()
	x, ok := f.extended[method]
	return f.custom[method] || ok && x.owner.holds(facts)
}

// scopes returns those that requests of a method need, whatever they name.
func (m *middleware) scopes(method string) []string { return m.folded.Load().needs[method] }

// nameMember returns the member of params that the name header repeats in
// requests of an extension.
func (m *middleware) nameMember(method string) string { return m.folded.Load().extended[method].name }

// outbound wraps send in the middleware.
func (m *middleware) outbound(send Handler) Handler { return m.folded.Load().wrap(send) }

func (m *middleware) fold(plain map[string]Handler) {
	m.mu.Lock()
	m.plain = plain
	m.mu.Unlock()
	m.refold()
}

func (m *middleware) use(more []Middleware) {
	if slices.ContainsFunc(more, func(m Middleware) bool { return m == nil }) {
		panic("mcpserver: Use: a middleware is nil")
	}
	m.mu.Lock()
	m.chain = append(m.chain, more...)
	m.mu.Unlock()
	m.refold()
}

func (m *middleware) custom(method string, h Handler) error {
	if err := m.add(method, h); err != nil {
		return err
	}
	m.refold()
	return nil
}

func (m *middleware) add(method string, h Handler) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case method == "":
		return fmt.Errorf("handle: the method is empty")
	case h == nil:
		return fmt.Errorf("handle %q: the handler is nil", method)
	case m.plain[method] != nil || m.extended[method].owner != nil || dialect.Defines(method):
		return fmt.Errorf("handle %q: the method is taken; want one of your own, such as %q", method, "acme/"+method)
	}
	if m.own == nil {
		m.own = make(map[string]bool)
	}
	m.plain[method], m.own[method] = h, true
	return nil
}

// refold makes a new folding. Middleware is the author's code, so it is called
// without the lock, and a folding that was overtaken meanwhile is dropped.
func (m *middleware) refold() {
	m.mu.Lock()
	plain, chain, own, more := maps.Clone(m.plain), slices.Clone(m.chain), maps.Clone(m.own), maps.Clone(m.extended)
	needs := maps.Clone(m.needs)
	m.changes++
	change := m.changes
	m.mu.Unlock()
	wrap := func(h Handler) Handler {
		for _, outer := range slices.Backward(chain) {
			h = outer(h)
		}
		return h
	}
	f := &folding{
		change: change, routes: make(map[string]Handler, len(plain)), custom: own, wrap: wrap,
		extended: make(map[string]extended, len(more)), needs: needs,
	}
	for method, h := range plain {
		f.routes[method] = wrap(h)
	}
	for method, x := range more {
		x.handler = wrap(x.handler)
		f.extended[method] = x
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if last := m.folded.Load(); last == nil || last.change < change {
		m.folded.Store(f)
	}
}

// routes is the table of the methods that the protocol defines.
func (s *Server) routes() map[string]Handler {
	return map[string]Handler{
		mcp.MethodInitialize:             s.initialize,
		mcp.MethodDiscover:               s.discover,
		mcp.MethodPing:                   s.ping,
		mcp.MethodToolsList:              s.listTools,
		mcp.MethodToolsCall:              s.callTool,
		mcp.MethodResourcesList:          s.listResources,
		mcp.MethodResourceTemplatesList:  s.listTemplates,
		mcp.MethodResourcesRead:          s.readResource,
		mcp.MethodResourcesSubscribe:     s.subscribe,
		mcp.MethodResourcesUnsubscribe:   s.unsubscribe,
		mcp.MethodListen:                 s.listen,
		mcp.MethodPromptsList:            s.listPrompts,
		mcp.MethodPromptsGet:             s.getPrompt,
		mcp.MethodComplete:               s.complete,
		mcp.MethodSetLevel:               s.setLevel,
		mcp.NotificationInitialized:      s.initialized,
		mcp.NotificationRootsListChanged: ignore,
		mcp.NotificationProgress:         ignore,
	}
}

// ignore is the handler of notifications that only middleware cares for.
func ignore(context.Context, *Request) (any, error) { return nil, nil }
