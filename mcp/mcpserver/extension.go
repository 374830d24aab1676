package mcpserver

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// Extension is an addition to the protocol that lies outside of its core: what it
// declares, the messages that it defines, and what it adds to those of the core.
// A server has none until Extend is called. All fields but ID may be left out.
//
// Extensions hold between peers that both declare them. In the stateless era the
// client does so with every request.
//
// Spec: 2026-07-28 basic/versioning#extensions
type Extension struct {
	// ID is declared, such as com.example/color. An extension that breaks older
	// peers needs another one.
	ID string
	// Settings are declared with it, a JSON object. Nil means {}.
	Settings jsontext.Value
	// Sessions tells that the extension holds in the session era as well, where
	// both sides declare it once, in initialize.
	Sessions bool
	// OneSided tells that the server alone declares the extension, so that its
	// requests and notifications are taken from every client.
	OneSided bool

	// Requests are those that the extension defines, by method. A client that did
	// not declare it is refused with CodeMissingCapability.
	Requests map[string]ExtensionRequest
	// Notifications are those of clients that the extension defines. What comes
	// from clients that did not declare it is dropped.
	Notifications map[string]Handler
	// ResultTypes are those that results may have besides the core's, towards
	// clients that declared the extension.
	ResultTypes []mcp.ResultType
	// Filters are the members that the extension adds to the filters of
	// subscriptions/listen. A client that did not declare it is refused.
	Filters map[string]Filter

	// Middleware wraps all messages, also those of clients that did not declare the
	// extension. It runs inside of the middleware of Use; that of the extension that
	// was added first is the outermost.
	Middleware Middleware

	// Core are requests that the core of some revisions has and leaves to this
	// extension, by method. They are served in those revisions alone, and nobody
	// has to declare the extension for them.
	Core map[string]Handler
	// Capabilities changes what the server declares besides. What a client's
	// revision does not have is left out there.
	Capabilities func(*mcp.ServerCapabilities)
}

// ExtensionRequest is a request that an extension defines.
type ExtensionRequest struct {
	// Handler does the request.
	Handler Handler
	// Name is the member of the params that the Mcp-Name header repeats over
	// HTTP, so that it has to be there and equal. Empty means none.
	Name string
}

// Filter begins a subscription to what an extension tells. It gets its member of
// the client's filter and returns the part of it that it will honour, to be
// acknowledged, as anything that encodes as JSON; nil is nothing. The feed is
// ranged over after that. It yields notifications, method and params, until ctx
// ends, and must not keep more than it has bounds for while one is being sent.
// An error refuses the subscription as a whole.
type Filter func(ctx context.Context, r *Request, wanted jsontext.Value) (honoured any, feed iter.Seq2[string, any], err error)

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

// copied returns an extension that shares no slices and maps with e.
func (e Extension) copied() Extension {
	e.Settings, e.ResultTypes = slices.Clone(e.Settings), slices.Clone(e.ResultTypes)
	e.Requests, e.Notifications = maps.Clone(e.Requests), maps.Clone(e.Notifications)
	e.Filters, e.Core = maps.Clone(e.Filters), maps.Clone(e.Core)
	return e
}

// check makes an extension complete, or says what is wrong with it.
func (e *Extension) check() error {
	if err := mcp.CheckMetaKey(e.ID); err != nil || !strings.Contains(e.ID, "/") {
		return fmt.Errorf("want an identifier with a prefix, such as com.example/%s", "color")
	}
	if e.Settings == nil {
		e.Settings = jsontext.Value("{}")
	}
	if e.Settings.Kind() != '{' || !e.Settings.IsValid() {
		return fmt.Errorf("settings: want a JSON object, or nil for {}")
	}
	for _, t := range e.ResultTypes {
		if t == "" || t == mcp.ResultComplete || t == mcp.ResultInputRequired {
			return fmt.Errorf("result type %q: belongs to the core; want another", t)
		}
	}
	for method := range e.Core {
		if !dialect.Defines(method) {
			return fmt.Errorf("%q is a request of no revision's core; want it in Requests", method)
		}
	}
	return nil
}

// holds reports whether the extension exists for callers of a revision.
func (e *Extension) holds(f *dialect.Facts) bool { return e.Sessions || f.Era == dialect.StatelessEra }

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

// extended is a message that an extension defines.
type extended struct {
	handler Handler
	owner   *Extension
	name    string // member of params that the name header repeats
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
