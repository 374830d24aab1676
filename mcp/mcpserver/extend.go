package mcpserver

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// Extend adds an extension to the server, and copies its slices and maps. It panics
// when the extension is not valid or was added already, and when one of its methods is
// defined by the core or by another extension. It is safe for concurrent use.
func (s *Server) Extend(e Extension) {
	e = e.copied()
	err := e.check()
	if err == nil {
		err = s.extensions.add(&e)
	}
	if err == nil {
		err = s.middleware.extend(&e)
	}
	if err != nil {
		panic(fmt.Sprintf("mcpserver: extension %q: %v", e.ID, err))
	}
	s.startWorkers()
}

// Extension returns the settings that the client has declared for an extension. ok is
// false when the client did not declare the extension for this request, when the server
// does not have the extension, and when r is nil.
func (r *Request) Extension(id string) (settings jsontext.Value, ok bool) {
	if r == nil || r.server == nil {
		return nil, false
	}
	e := r.server.extensions.of(id)
	if e == nil || !e.holds(r.call.Facts) {
		return nil, false
	}
	settings, ok = r.call.Capabilities.Extensions[id]
	return settings, ok
}

// RequireExtension returns nil when Extension reports true, ErrNotInCall when r is nil,
// and otherwise an error of CodeMissingCapability that tells the client what to declare.
func (r *Request) RequireExtension(id string) error {
	if _, ok := r.Extension(id); ok {
		return nil
	}
	if r == nil {
		return ErrNotInCall
	}
	return dialect.MissingExtension(r.method, id)
}

// extensions are the extensions of a server.
type extensions struct {
	mu  sync.RWMutex
	all map[string]*Extension // guarded by mu: by ID; an entry is never modified
}

func (x *extensions) add(e *Extension) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.all[e.ID] != nil {
		return fmt.Errorf("was added already")
	}
	if x.all == nil {
		x.all = make(map[string]*Extension)
	}
	x.all[e.ID] = e
	return nil
}

func (x *extensions) of(id string) *Extension {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.all[id]
}

// sorted returns the extensions in the order of their IDs.
func (x *extensions) sorted() []*Extension {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.SortedFunc(maps.Values(x.all), func(a, b *Extension) int { return strings.Compare(a.ID, b.ID) })
}

// declare adds the extensions to the capabilities that the server declares in a revision.
func (x *extensions) declare(c *mcp.ServerCapabilities, f *dialect.Facts) {
	for _, e := range x.sorted() {
		if e.Capabilities != nil {
			e.Capabilities(c)
		}
		if !e.holds(f) {
			continue
		}
		if c.Extensions == nil {
			c.Extensions = make(map[string]jsontext.Value)
		}
		c.Extensions[e.ID] = e.Settings
	}
}

// allowsResultType reports whether a result of the type may be sent to the caller: it
// belongs to the core, or to an extension that both sides declare.
//
// Spec: 2026-07-28 basic#responses
func (x *extensions) allowsResultType(call *dialect.Call, t mcp.ResultType) bool {
	if t == "" || t == mcp.ResultComplete || t == mcp.ResultInputRequired || !call.Facts.Envelope {
		return true
	}
	for id := range call.Capabilities.Extensions {
		if e := x.of(id); e != nil && slices.Contains(e.ResultTypes, t) {
			return true
		}
	}
	return false
}

// extend adds the messages and the middleware of an extension.
func (m *middleware) extend(e *Extension) error {
	var inner *layer
	if e.Middleware != nil {
		var err error
		if inner, err = newLayer(e.Middleware); err != nil {
			return err
		}
		inner.extension = true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	more := make(map[string]extensionMessage)
	for method, r := range e.Requests {
		more[method] = extensionMessage{handler: refuseUndeclared(e, r.Handler), owner: e, name: r.Name}
	}
	for method, h := range e.Notifications {
		more[method] = extensionMessage{handler: dropUndeclared(e, h), owner: e}
	}
	for method, x := range more {
		if m.extended[method].owner != nil || m.custom[method] || !dialect.ExtensionMay(method, e.Sessions) {
			return fmt.Errorf("method %q: is defined by the protocol or registered already; want one with a prefix of your own", method)
		}
		if x.handler == nil {
			return fmt.Errorf("method %q: the handler is nil", method)
		}
	}
	for method := range e.Core {
		if m.handlers[method] != nil {
			return fmt.Errorf("method %q: is registered already", method)
		}
	}
	if m.extended == nil {
		m.extended = make(map[string]extensionMessage)
	}
	maps.Copy(m.extended, more)
	maps.Copy(m.handlers, e.Core)
	if inner != nil {
		inner.index = len(m.extensionLayers)
		m.extensionLayers = append(slices.Clip(m.extensionLayers), inner)
	}
	m.publishLocked()
	return nil
}

// refuseUndeclared returns a Handler that refuses requests of clients that did not declare
// the extension. A OneSided extension needs no declaration.
func refuseUndeclared(e *Extension, h Handler) Handler {
	if h == nil || e.OneSided {
		return h
	}
	return func(ctx context.Context, r *Request) (any, error) {
		err := r.RequireExtension(e.ID)
		if err != nil && r.call.Facts.Era == dialect.SessionEra {
			err = mcp.Errorf(mcp.CodeMethodNotFound, "method %q: not found, since the client did not declare the extension %s", r.method, e.ID)
		}
		if err != nil {
			return nil, err
		}
		return h(ctx, r)
	}
}

// dropUndeclared returns a Handler that ignores notifications of clients that did not
// declare the extension. A OneSided extension needs no declaration.
func dropUndeclared(e *Extension, h Handler) Handler {
	if h == nil || e.OneSided {
		return h
	}
	return func(ctx context.Context, r *Request) (any, error) {
		if _, ok := r.Extension(e.ID); !ok {
			return nil, nil
		}
		return h(ctx, r)
	}
}
