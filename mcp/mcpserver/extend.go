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
// when the extension makes no sense, is there already, or defines what is taken.
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
}

// Extension returns the settings that the client has declared for an extension,
// and false when it did not declare it for this request or the server does not
// have it.
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

// RequireExtension returns nil when Extension would report true, and otherwise an
// error of CodeMissingCapability that tells the client what to declare.
func (r *Request) RequireExtension(id string) error {
	if _, ok := r.Extension(id); ok {
		return nil
	}
	if r == nil {
		return ErrNotInCall
	}
	return dialect.MissingExtension(r.method, id)
}

// extensions are those of a server.
type extensions struct {
	mu  sync.RWMutex
	all map[string]*Extension // guarded by mu: by ID; never modified once they are in
}

func (x *extensions) add(e *Extension) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.all[e.ID] != nil {
		return fmt.Errorf("is there already")
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

// declare adds the extensions to what the server declares in a revision.
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

// mayAnswer reports whether a result of the type may go to the caller: it is the
// core's, or one of an extension that both sides declare.
//
// Spec: 2026-07-28 basic#responses
func (x *extensions) mayAnswer(call *dialect.Call, t mcp.ResultType) bool {
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

// extend adds the messages of an extension to the table.
func (m *middleware) extend(e *Extension) error {
	var inner *layer
	if e.Middleware != nil {
		var err error
		if inner, err = newLayer(e.Middleware); err != nil {
			return err
		}
		inner.inner = true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	more := make(map[string]extended)
	for method, r := range e.Requests {
		more[method] = extended{handler: declaredOnly(e, r.Handler), owner: e, name: r.Name}
	}
	for method, h := range e.Notifications {
		more[method] = extended{handler: droppedUnless(e, h), owner: e}
	}
	for method, x := range more {
		if m.extended[method].owner != nil || m.own[method] || !dialect.ExtensionMay(method, e.Sessions) {
			return fmt.Errorf("%q is taken; want one with a prefix of your own", method)
		}
		if x.handler == nil {
			return fmt.Errorf("%q: the handler is nil", method)
		}
	}
	for method := range e.Core {
		if m.plain[method] != nil {
			return fmt.Errorf("%q is served already", method)
		}
	}
	if m.extended == nil {
		m.extended = make(map[string]extended)
	}
	maps.Copy(m.extended, more)
	maps.Copy(m.plain, e.Core)
	if inner != nil {
		inner.index = len(m.inner)
		m.inner = append(slices.Clip(m.inner), inner)
	}
	m.publishLocked()
	return nil
}

// declaredOnly refuses requests of clients that should have declared the extension
// and did not.
func declaredOnly(e *Extension, h Handler) Handler {
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

func droppedUnless(e *Extension, h Handler) Handler {
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
