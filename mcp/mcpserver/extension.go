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

// Extension is an extension of the protocol: the capability that it declares, the
// messages that it defines, and what it adds to messages of the core. A server has none
// until [Server.Extend] is called. All fields but ID are optional.
//
// An extension is active between peers that both declare it. In the stateless era the
// client declares it in every request.
//
// Spec: 2026-07-28 basic/versioning#extensions
type Extension struct {
	// ID is the identifier that is declared, such as com.example/color. A version that is
	// not compatible with older peers needs a new ID.
	ID string
	// Settings is a JSON object that is declared with the ID. Nil means {}.
	Settings jsontext.Value
	// Sessions makes the extension available in the session era as well, where both
	// sides declare it once, in initialize.
	Sessions bool
	// OneSided means that only the server declares the extension: its requests and
	// notifications are accepted from every client.
	OneSided bool

	// Requests are the requests that the extension defines, by method. A client that did
	// not declare the extension is refused with CodeMissingCapability.
	Requests map[string]ExtensionRequest
	// Notifications are the handlers of notifications that clients send, by method.
	// Notifications of clients that did not declare the extension are ignored.
	Notifications map[string]Handler
	// ResultTypes are result types, besides those of the core, that the server may send
	// to clients that declared the extension.
	ResultTypes []mcp.ResultType
	// Filters are the members that the extension adds to the filter of
	// subscriptions/listen, by name. A client that uses one and did not declare the
	// extension is refused with CodeMissingCapability.
	Filters map[string]Filter

	// Middleware wraps all messages, also those of clients that did not declare the
	// extension. It runs inside of the middleware of Use. The middleware of the extension
	// that was added first is the outermost.
	Middleware Middleware

	// Worker runs while the server serves and has a tool with the option Durable, until ctx
	// ends, when a shutdown begins. Shutdown waits for it. RunWorker runs it in processes that
	// serve nobody, maybe several times at once.
	Worker func(ctx context.Context)

	// Continue replies to a request of another process that has ended, for which
	// Request.ContinueAs was called with the name of that work. r has the session and the event
	// stream of the client, its method, and no params; its sender is that of the last message.
	Continue func(ctx context.Context, r *Request, work string) (any, error)
	// Abandon is called when the client has cancelled a request for which Request.ContinueAs was
	// called, or when its session has ended, maybe several times and in several processes.
	Abandon func(ctx context.Context, work string)

	// Core are the handlers of requests that are in the core of some revisions and that
	// this library implements as an extension, by method. They are served only in those
	// revisions, and clients need not declare the extension for them.
	Core map[string]Handler
	// Capabilities changes the capabilities that the server declares. Those that a
	// client's revision does not have are not sent to it.
	Capabilities func(*mcp.ServerCapabilities)
}

// ExtensionRequest is a request that an extension defines.
type ExtensionRequest struct {
	// Handler handles the request. It must not be nil.
	Handler Handler
	// Name is a member of the params. Over HTTP the header Mcp-Name must be present and
	// equal to it. Empty means that there is no such header.
	Name string
}

// Filter starts the part of a subscription (subscriptions/listen) that an extension
// serves. wanted is the extension's member of the client's filter. Filter returns the part
// of it that it accepts, as any value that encodes as JSON; that part is sent with the
// acknowledgement. If accepted is nil, feed is not used. Otherwise feed yields
// notifications, method and params, until ctx ends. It runs on a goroutine of its own after
// the acknowledgement is sent, and it waits while a notification is being sent: what it
// queues meanwhile must be bounded. An error refuses the whole subscription.
type Filter func(ctx context.Context, r *Request, wanted jsontext.Value) (accepted any, feed iter.Seq2[string, any], err error)

// copied returns an extension that shares no slices and maps with e.
func (e Extension) copied() Extension {
	e.Settings, e.ResultTypes = slices.Clone(e.Settings), slices.Clone(e.ResultTypes)
	e.Requests, e.Notifications = maps.Clone(e.Requests), maps.Clone(e.Notifications)
	e.Filters, e.Core = maps.Clone(e.Filters), maps.Clone(e.Core)
	return e
}

// check sets the defaults of an extension, or returns what is wrong with it.
func (e *Extension) check() error {
	if err := mcp.CheckMetaKey(e.ID); err != nil || !strings.Contains(e.ID, "/") {
		return fmt.Errorf("ID: want an identifier with a prefix, such as com.example/%s", "color")
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
			return fmt.Errorf("method %q of Core is not a request of the core of any revision; want it in Requests", method)
		}
	}
	return nil
}

// holds reports whether the extension is available in a revision.
func (e *Extension) holds(f *dialect.Facts) bool { return e.Sessions || f.Era == dialect.StatelessEra }
