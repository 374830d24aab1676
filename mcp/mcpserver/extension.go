package mcpserver

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

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
