package mirror

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// bridge connects a server, or single features of it, to a foreign server. All methods but
// start, mount and close are safe for concurrent use.
type bridge struct {
	foreign  Foreign
	options  Options
	own      Session                // for the requests of the bridge itself
	declared mcp.ServerCapabilities // by the foreign server, to own
	sessions *sessions
	features *features                        // what mount registers
	mounted  atomic.Pointer[mcpserver.Server] // set when the features are registered
	follower follower                         // registers later changes

	ctx    context.Context // ends when the bridge is being closed
	cancel context.CancelFunc
}

func newBridge(foreign Foreign, o Options) *bridge {
	b := &bridge{foreign: foreign, options: o}
	b.sessions = newSessions(b.open)
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// start opens the bridge's own session and returns what the foreign server says about itself.
func (b *bridge) start() (*mcp.InitializeResult, error) {
	own, about, err := b.connect(nil)
	if err != nil {
		return nil, err
	}
	b.own, b.declared = own, about.Capabilities
	if about.ServerInfo.Name == "" {
		return nil, errors.New("initialize: the server has no name")
	}
	return about, nil
}

// mount registers the features of the foreign server.
func (b *bridge) mount(server *mcpserver.Server) error {
	b.features = newFeatures(server, b)
	if err := b.features.sync(b.ctx); err != nil {
		return err // close removes those that are registered
	}
	b.mounted.Store(server)
	server.Use(b.forwardNotifications)
	b.follower.start(b.follow)
	return nil
}

// close removes the features, ends all sessions of the foreign server, and waits for them.
func (b *bridge) close() {
	b.cancel()
	b.follower.stop()
	if b.features != nil {
		b.features.remove()
	}
	b.sessions.closeAll()
	if b.own != nil {
		b.own.Close()
	}
}

// follow registers changes of the foreign server.
func (b *bridge) follow() {
	if err := b.features.sync(b.ctx); err != nil && b.ctx.Err() == nil && b.options.OnError != nil {
		b.options.OnError(err)
	}
}

// do sends a request to the foreign server. A call of a session uses the foreign session of
// that session, any other call one for itself; a request without a call uses the bridge's own.
func (b *bridge) do(ctx context.Context, method string, params any) (jsontext.Value, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	c := CallFrom(ctx)
	if c == nil {
		return b.own.Do(ctx, method, raw)
	}
	if c.Request().Session() != nil {
		s, err := b.sessions.of(c.Request())
		if err != nil {
			return nil, err
		}
		return s.Do(ctx, method, raw)
	}
	s, err := b.connectOnce(c.Request())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Do(ctx, method, raw)
}

// list requests a page of a list. A foreign server may list tools whose handlers return
// questions to clients of the newest revision alone, so it is asked by one of these.
func (b *bridge) list(ctx context.Context, method string, params *mcp.ListParams) (jsontext.Value, error) {
	if !b.options.InputRequired {
		return b.do(ctx, method, params)
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	s, err := b.connectOnce(nil)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Do(ctx, method, raw)
}

// receiver returns the receiver of the notifications of a foreign session that belong to no
// call. The bridge's own session has no client. Changes of lists and updates of resources are
// those that this session gets; a log message goes to the client.
func (b *bridge) receiver(client *mcpserver.Session) Receiver {
	if client == nil {
		return b.receiveChange
	}
	return func(method string, params jsontext.Value) {
		var m mcp.LoggingMessageParams
		if method == mcp.NotificationMessage && json.Unmarshal(params, &m) == nil {
			_ = client.ForwardLog(client.Context(), &m)
		}
	}
}

func (b *bridge) receiveChange(method string, params jsontext.Value) {
	switch method {
	case mcp.NotificationToolsListChanged, mcp.NotificationPromptsListChanged, mcp.NotificationResourcesListChanged:
		b.follower.notify()
	case mcp.NotificationResourceUpdated:
		var p mcp.ResourceUpdatedParams
		if server := b.mounted.Load(); server != nil && json.Unmarshal(params, &p) == nil {
			server.Updated(p.URI)
		}
	}
}

// forwardNotifications is the middleware that notifies the foreign session of a client when the
// client has initialized, or has changed its roots.
func (b *bridge) forwardNotifications(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		if r.Session() != nil && !r.Outbound() {
			switch r.Method() {
			case mcp.NotificationInitialized:
				_, _ = b.sessions.of(r) // a call that needs the session reports the error
			case mcp.NotificationRootsListChanged:
				if s, err := b.sessions.of(r); err == nil {
					s.Notify(ctx, r.Method())
				}
			}
		}
		return next(ctx, r)
	}
}
