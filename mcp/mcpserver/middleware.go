package mcpserver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// Handler handles one request or notification. The result of a request is a result type
// of package mcp, or any value that encodes as a JSON object; nil is the empty result. For
// a notification the result is ignored and an error is logged.
type Handler func(ctx context.Context, r *Request) (any, error)

// Middleware wraps the handling of every message: requests and notifications of
// clients, and the requests that the server sends to clients, for which
// [Request.Outbound] is true. The Handler that it returns calls next with the Request
// that it was called with. A Handler that does not call next answers the request itself.
//
// [Server.Use] calls a Middleware once, not once for each method or message. The state of
// the returned Handler is therefore shared by all messages of all clients, and the Handler
// must be safe for concurrent use. It may call the server. next must not be called before
// the first message.
type Middleware func(next Handler) Handler

// Use adds middleware around the handlers of all methods. The first one added is the
// outermost. Use calls each middleware once, on the goroutine of its caller. Requests
// that are running are not affected. Use panics when a middleware is nil or returns nil.
func (s *Server) Use(m ...Middleware) {
	if err := s.middleware.use(m); err != nil {
		panic("mcpserver: Use: " + err.Error())
	}
}

// Handle registers h for a method of your own, such as acme/status, in every revision.
// It panics when h is nil, and when the method is empty, defined by the protocol or
// registered already. In the stateless era h cannot ask the client: only the protocol's
// own requests can be answered with questions.
func (s *Server) Handle(method string, h Handler) {
	if err := s.middleware.handleCustom(method, h); err != nil {
		panic("mcpserver: " + err.Error())
	}
}

// middleware holds the handlers of all methods and the middleware around them.
type middleware struct {
	mu              sync.Mutex
	handlers        map[string]Handler // guarded by mu
	userLayers      chain              // guarded by mu: added by Use; its array is never modified
	extensionLayers chain              // guarded by mu: of extensions; its array is never modified
	custom          map[string]bool    // guarded by mu: the methods of Handle

	extended     map[string]extensionMessage // guarded by mu: the messages of extensions, by method
	methodScopes map[string][]string         // guarded by mu: the scopes that a method requires

	current atomic.Pointer[routeTable]
}

// hasCustom reports whether the server has a handler in that revision for a method that is
// not in the core of the revision.
func (m *middleware) hasCustom(facts *dialect.Facts, method string) bool {
	t := m.current.Load()
	x, ok := t.extended[method]
	return t.isCustom[method] || ok && x.owner.holds(facts)
}

// scopes returns the scopes that every request of a method requires.
func (m *middleware) scopes(method string) []string { return m.current.Load().methodScopes[method] }

// nameMember returns the member of params that the header Mcp-Name repeats, for a request
// of an extension.
func (m *middleware) nameMember(method string) string {
	return m.current.Load().extended[method].name
}

// lookup returns the middleware and the handler of a message.
func (m *middleware) lookup(call *dialect.Call) route { return m.current.Load().lookup(call) }

// outbound returns a Handler that runs the middleware and then send.
func (m *middleware) outbound(send Handler) Handler {
	return func(ctx context.Context, r *Request) (any, error) {
		t := m.current.Load()
		r.route = route{t, send}
		return r.route.run(ctx, r, 0)
	}
}

// setCore sets the handlers of the core's methods.
func (m *middleware) setCore(handlers map[string]Handler) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.handlers = handlers
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
		l.index = len(m.userLayers) + i
	}
	m.userLayers = append(slices.Clip(m.userLayers), layers...)
	m.publishLocked()
	return nil
}

func (m *middleware) handleCustom(method string, h Handler) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case method == "":
		return fmt.Errorf("handle: the method is empty")
	case h == nil:
		return fmt.Errorf("handle %q: the handler is nil", method)
	case m.handlers[method] != nil || m.extended[method].owner != nil || dialect.Defines(method):
		return fmt.Errorf("handle %q: the method is defined by the protocol or registered already; want one of your own, such as %q", method, "acme/"+method)
	}
	if m.custom == nil {
		m.custom = make(map[string]bool)
	}
	m.handlers[method], m.custom[method] = h, true
	m.publishLocked()
	return nil
}

// publishLocked stores a new routeTable for the messages that are read from now on.
func (m *middleware) publishLocked() {
	m.current.Store(&routeTable{
		routes:          maps.Clone(m.handlers),
		isCustom:        maps.Clone(m.custom),
		userLayers:      m.userLayers,
		extensionLayers: m.extensionLayers,
		extended:        maps.Clone(m.extended),
		methodScopes:    maps.Clone(m.methodScopes),
	})
}
