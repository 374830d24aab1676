package mcpserver

import (
	"context"
	"errors"
	"slices"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// way is what one message goes through: the layers of Use, those of extensions, then
// the handler of its method.
type way struct {
	table   *routeTable // which has the layers
	handler Handler
}

// from runs the part of the way that begins with the layer of that index.
func (w *way) from(ctx context.Context, r *Request, index int) (any, error) {
	switch {
	case w.handler == nil:
		return nil, errForeignRequest
	case index < len(w.table.chain):
		return w.table.chain[index].handle(ctx, r)
	}
	return w.fromInner(ctx, r, 0)
}

// fromInner runs the part of the way that begins with that layer of an extension.
func (w *way) fromInner(ctx context.Context, r *Request, index int) (any, error) {
	switch {
	case w.handler == nil:
		return nil, errForeignRequest
	case index < len(w.table.inner):
		return w.table.inner[index].handle(ctx, r)
	}
	return w.handler(ctx, r)
}

// errForeignRequest is the error of middleware that passes on another Request. The log
// has the method beside it.
var errForeignRequest = errors.New("middleware: next got a Request of its caller's own; want the one that the middleware got")

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

// route returns the middleware and the handler of a message. The handler is nil where
// the method has none. A message that the caller's revision has in its core goes to the
// core, also where an extension defines one of that name.
func (t *routeTable) route(call *dialect.Call) way {
	if x, ok := t.extended[call.Method]; ok && x.owner.holds(call.Facts) {
		return way{t, x.handler}
	}
	h := t.routes[call.Method]
	if h == nil && len(t.chain)+len(t.inner) > 0 && slices.Contains(middlewareOnly, call.Method) {
		h = ignore
	}
	return way{t, h}
}

// middlewareOnly are the notifications that nothing but middleware handles.
var middlewareOnly = []string{mcp.NotificationInitialized, mcp.NotificationRootsListChanged, mcp.NotificationProgress}

// ignore is their handler.
func ignore(context.Context, *Request) (any, error) { return nil, nil }

// extended is a message that an extension defines.
type extended struct {
	handler Handler
	owner   *Extension
	name    string // member of params that the name header repeats
}
