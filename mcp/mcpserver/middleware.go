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

// route returns the middleware and the handler of a message.
func (m *middleware) route(call *dialect.Call) way { return m.current.Load().route(call) }

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
