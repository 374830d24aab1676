package fromgosdk

import (
	"context"
	"errors"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/x/internal/mirror"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the options of Mount and NewServer. The zero value and nil mean the defaults.
type Options struct {
	// Features are the options of each feature, such as mcpserver.Scopes. Default: none.
	Features []mcpserver.Option
	// InputRequests gives handlers a session of 2026-07-28 for each request of the stateless
	// era. Set it for a server whose handlers return InputRequests there: its questions are
	// sent to the client, and it gets the answers in the next round. The requests that
	// handlers send to such a session fail, as they do in go-sdk. Default: every session is
	// one of 2025-11-25, and handlers can send requests in both eras.
	InputRequests bool
	// OnError is called, on one goroutine, when a later change of the other server cannot be
	// registered. Default: such errors are ignored, and the feature is left out.
	OnError func(error)
}

// Mount registers the tools, prompts, resources and resource templates of a server of go-sdk
// in a server, and keeps them the same when the other server changes. The other server may
// have middleware and any options. It is not changed, except that each Mount adds one
// receiving middleware to it.
//
// The lists are those that the other server shows to a client without an identity and without
// capabilities; every client sees the same. Options such as mcpserver.Visible and
// mcpserver.Scopes restrict them.
//
// Mount returns an error if the server has a feature of the same name or URI already, or if a
// feature cannot be registered. It has registered none then.
//
// unmount removes the features and closes all sessions of the other server. It waits for the
// calls that run in them. Call it once.
func Mount(server *mcpserver.Server, other *gosdk.Server, o *Options) (unmount func(), err error) {
	b := newBridge(other)
	if _, err = b.start(); err == nil {
		err = b.mount(server, o)
	}
	if err != nil {
		b.close()
		return nil, fmt.Errorf("mount: %w", err)
	}
	return b.close, nil
}

// NewServer returns a server with all features of a server of go-sdk, and with its name,
// version, title and instructions, unless the options of the server have others. Both
// options may be nil. What it returns is served as any other server, such as by
// mcpserver.Main.
func NewServer(other *gosdk.Server, server *mcpserver.Options, o *Options) (*mcpserver.Server, error) {
	var options mcpserver.Options
	if server != nil {
		options = *server
	}
	b := newBridge(other)
	about, err := b.start()
	if err != nil {
		b.close()
		return nil, fmt.Errorf("server of go-sdk: %w", err)
	}
	if options.Instructions == "" {
		options.Instructions = about.Instructions
	}
	if options.Title == "" {
		options.Title = about.ServerInfo.Title
	}
	mounted := mcpserver.New(about.ServerInfo.Name, about.ServerInfo.Version, &options)
	if err := b.mount(mounted, o); err != nil {
		b.close()
		return nil, fmt.Errorf("server of go-sdk: %w", err)
	}
	return mounted, nil
}

// start opens the bridge's own session and returns what the other server says about itself.
func (b *bridge) start() (*gosdk.InitializeResult, error) {
	link, about, err := b.open(nil)
	if err != nil {
		return nil, err
	}
	b.own = link
	if about.ServerInfo == nil {
		return nil, errors.New("it has no name")
	}
	if c := about.Capabilities; c != nil {
		b.completes, b.subscribes = c.Completions != nil, c.Resources != nil && c.Resources.Subscribe
	}
	return about, nil
}

// mount registers the features of the other server.
func (b *bridge) mount(server *mcpserver.Server, o *Options) error {
	if o == nil {
		o = new(Options)
	}
	m := mirror.New(server, b)
	m.InputRequired, b.inputRequests = o.InputRequests, o.InputRequests
	m.Options, m.Completes, m.Subscribes = o.Features, b.completes, b.subscribes
	b.mirror = m
	if err := m.Sync(b.ctx); err != nil {
		m.Remove()
		return err
	}
	server.Use(b.forwardNotifications)
	b.updated = server.Updated
	b.running.Go(func() { b.follow(o.OnError) })
	return nil
}

// follow registers the changes of the other server until the bridge is closed.
func (b *bridge) follow(onError func(error)) {
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-b.changed:
		}
		if err := b.mirror.Sync(b.ctx); err != nil && b.ctx.Err() == nil && onError != nil {
			onError(err)
		}
	}
}

// forwardNotifications is the middleware that tells the other server's session that a client
// has initialized, or has changed its roots.
func (b *bridge) forwardNotifications(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		if r.Session() != nil && !r.Outbound() {
			switch r.Method() {
			case mcp.NotificationInitialized:
				_, _ = b.linkOf(r) // a call that needs the session reports the error
			case mcp.NotificationRootsListChanged:
				if link, err := b.linkOf(r); err == nil {
					link.notify(r.Method(), nil)
				}
			}
		}
		return next(ctx, r)
	}
}
