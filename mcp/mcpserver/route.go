package mcpserver

import (
	"context"
	"errors"
	"slices"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// route is the middleware and the handler of one message: first the middleware of Use, then
// that of extensions, then the handler of the method.
type route struct {
	table   *routeTable // has the layers
	handler Handler     // nil when the method has none
}

// run runs the middleware of Use from that index on, then all that follows.
func (w *route) run(ctx context.Context, r *Request, index int) (any, error) {
	switch {
	case w.handler == nil:
		return nil, errForeignRequest
	case index < len(w.table.userLayers):
		return w.table.userLayers[index].handle(ctx, r)
	}
	return w.runInner(ctx, r, 0)
}

// runInner runs the middleware of extensions from that index on, then the handler.
func (w *route) runInner(ctx context.Context, r *Request, index int) (any, error) {
	switch {
	case w.handler == nil:
		return nil, errForeignRequest
	case index < len(w.table.extensionLayers):
		return w.table.extensionLayers[index].handle(ctx, r)
	}
	return w.handler(ctx, r)
}

// errForeignRequest is the error of middleware that calls next with a Request that it has
// made itself. The log line has the method.
var errForeignRequest = errors.New("middleware: next was called with another Request; want the one that the middleware was called with")

// routeTable is an immutable snapshot of a middleware.
type routeTable struct {
	routes          map[string]Handler
	isCustom        map[string]bool
	userLayers      chain
	extensionLayers chain
	extended        map[string]extensionMessage
	methodScopes    map[string][]string
}

// chain is a list of middleware, the outermost first.
type chain []*layer

// layer is one middleware. It is constructed once, also when other layers are added later,
// because its next Handler finds the following layer in the route of the request.
type layer struct {
	index     int // in every chain that has the layer
	extension bool
	handle    Handler
}

// newLayer calls the constructor m. It is user code, so the caller must not hold a lock.
func newLayer(m Middleware) (*layer, error) {
	if m == nil {
		return nil, errors.New("a middleware is nil")
	}
	l := new(layer)
	l.handle = m(func(ctx context.Context, r *Request) (any, error) {
		if l.extension {
			return r.route.runInner(ctx, r, l.index+1)
		}
		return r.route.run(ctx, r, l.index+1)
	})
	if l.handle == nil {
		return nil, errors.New("a middleware returned nil; want a Handler")
	}
	return l, nil
}

// lookup returns the middleware and the handler of a message. The handler is nil when the
// method has none. Where the caller's revision has the method in its core, the handler of
// the core is used even if an extension defines the same method.
func (t *routeTable) lookup(call *dialect.Call) route {
	if x, ok := t.extended[call.Method]; ok && x.owner.holds(call.Facts) {
		return route{t, x.handler}
	}
	h := t.routes[call.Method]
	if h == nil && len(t.userLayers)+len(t.extensionLayers) > 0 && slices.Contains(middlewareOnly, call.Method) {
		h = ignore
	}
	return route{t, h}
}

// middlewareOnly are the notifications that only middleware handles.
var middlewareOnly = []string{mcp.NotificationInitialized, mcp.NotificationRootsListChanged, mcp.NotificationProgress}

// ignore is the handler of middlewareOnly.
func ignore(context.Context, *Request) (any, error) { return nil, nil }

// extensionMessage is a request or notification that an extension defines.
type extensionMessage struct {
	handler Handler
	owner   *Extension
	name    string // the member of params that the header Mcp-Name repeats
}
