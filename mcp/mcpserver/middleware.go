package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// Handler does one request. The result is a result type of the vocabulary or
// anything that encodes as a JSON object; nil is the empty result. What a Handler of
// a notification returns is not sent; an error is logged.
type Handler func(ctx context.Context, r *Request) (any, error)

// Middleware wraps the handling of every message: requests and notifications of
// clients, and with Outbound set the requests that the server sends to them. The
// Handler that it returns calls next, with the Request that it got, to go on; one
// that does not call next answers in its place.
//
// It is called once by each Use, not once for each method or message, and what it
// keeps is shared by all messages of all clients: the Handler that it returns has to
// be safe for concurrent use. It may call the server. next is not to be called
// before the first message.
type Middleware func(next Handler) Handler

// Use adds middleware around all methods. The first one added is the outermost. Each
// is called once, on the goroutine of the caller; requests that are running are not
// affected. Use panics when a middleware is nil or returns nil.
func (s *Server) Use(m ...Middleware) {
	if err := s.middleware.use(m); err != nil {
		panic("mcpserver: Use: " + err.Error())
	}
}

// Handle serves a method of one's own, in every revision. It panics when the
// method belongs to the protocol or is taken.
func (s *Server) Handle(method string, h Handler) {
	if err := s.middleware.custom(method, h); err != nil {
		panic("mcpserver: " + err.Error())
	}
}

// middleware is the table of handlers and the middleware around them.
type middleware struct {
	mu    sync.Mutex
	plain map[string]Handler // guarded by mu
	chain chain              // guarded by mu: of Use; what it holds is not modified
	inner chain              // guarded by mu: of extensions, likewise
	own   map[string]bool    // guarded by mu: methods added by the author

	extended map[string]extended // guarded by mu: messages of extensions
	needs    map[string][]string // guarded by mu: the scopes of methods

	current atomic.Pointer[routeTable]
}

// routeTable is one immutable state of the table.
type routeTable struct {
	routes   map[string]Handler
	custom   map[string]bool
	chain    chain
	inner    chain
	extended map[string]extended
	needs    map[string][]string
}

// chain is middleware, the outermost first.
type chain []*layer

// layer is one middleware, which is constructed once, whatever comes before or
// behind it later: which layer is next is read from the request.
type layer struct {
	index  int // in every chain that has the layer
	inner  bool
	handle Handler
}

// newLayer constructs a middleware, whose code must not run under a lock.
func newLayer(m Middleware) (*layer, error) {
	if m == nil {
		return nil, errors.New("a middleware is nil")
	}
	l := new(layer)
	l.handle = m(func(ctx context.Context, r *Request) (any, error) {
		if l.inner {
			return r.way.fromInner(ctx, r, l.index+1)
		}
		return r.way.from(ctx, r, l.index+1)
	})
	if l.handle == nil {
		return nil, errors.New("a middleware returned nil; want a Handler")
	}
	return l, nil
}

// hasCustom reports whether a method beyond the core of a revision is served
// there.
func (m *middleware) hasCustom(facts *dialect.Facts, method string) bool {
	t := m.current.Load()
	x, ok := t.extended[method]
	return t.custom[method] || ok && x.owner.holds(facts)
}

// scopes returns those that requests of a method need, whatever they name.
func (m *middleware) scopes(method string) []string { return m.current.Load().needs[method] }

// nameMember returns the member of params that the name header repeats in
// requests of an extension.
func (m *middleware) nameMember(method string) string {
	return m.current.Load().extended[method].name
}

// outbound wraps send in the middleware.
func (m *middleware) outbound(send Handler) Handler {
	return func(ctx context.Context, r *Request) (any, error) {
		t := m.current.Load()
		r.way = way{t, send}
		return r.way.from(ctx, r, 0)
	}
}

// serve sets the handlers of the core's methods.
func (m *middleware) serve(plain map[string]Handler) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.plain = plain
	m.publishLocked()
}

func (m *middleware) use(more []Middleware) error {
	layers := make(chain, len(more))
	for i, middleware := range more {
		l, err := newLayer(middleware)
		if err != nil {
			return err
		}
		layers[i] = l
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, l := range layers {
		l.index = len(m.chain) + i
	}
	m.chain = append(slices.Clip(m.chain), layers...)
	m.publishLocked()
	return nil
}

func (m *middleware) custom(method string, h Handler) error {
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
	m.publishLocked()
	return nil
}

// publishLocked makes the present state the one that messages see.
func (m *middleware) publishLocked() {
	m.current.Store(&routeTable{
		routes:   maps.Clone(m.plain),
		custom:   maps.Clone(m.own),
		chain:    m.chain,
		inner:    m.inner,
		extended: maps.Clone(m.extended),
		needs:    maps.Clone(m.needs),
	})
}

// routes is the table of the methods that the protocol defines.
func (s *Server) routes() map[string]Handler {
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

// middlewareOnly are the notifications that nothing but middleware handles.
var middlewareOnly = []string{mcp.NotificationInitialized, mcp.NotificationRootsListChanged, mcp.NotificationProgress}

// ignore is their handler.
func ignore(context.Context, *Request) (any, error) { return nil, nil }
