package frommcpgo

import (
	"context"
	"errors"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/x/internal/mirror"
	mcpgo "github.com/mark3labs/mcp-go/server"
)

// Options are the options of Mount and NewServer. The zero value and nil mean the defaults.
type Options struct {
	// Features are the options of each feature, such as mcpserver.Scopes. Default: none.
	Features []mcpserver.Option
	// Context changes the context of each request that the other server handles, as the
	// context functions of the transports of mcp-go do. The request has the header and the
	// identity of its client. Default: the context of the request.
	Context func(ctx context.Context, r *mcpserver.Request) context.Context
	// OnError is called, on one goroutine, when a later change of the other server cannot be
	// registered. Default: such errors are ignored, and the feature is left out.
	OnError func(error)
}

// Mount registers the tools, prompts, resources and resource templates of a server of mcp-go
// in a server, and keeps them the same when the other server changes, if that notifies of
// changes. The other server is not changed.
//
// The lists are those that the other server shows to a client without an identity and without
// capabilities; every client sees the same. Options such as mcpserver.Visible and
// mcpserver.Scopes restrict them. Tools and resources of a single session and tasks are not
// served.
//
// Mount returns an error if the server has a feature of the same name or URI already, or if a
// feature cannot be registered. It has registered none then.
//
// unmount removes the features and ends all sessions of the other server. Call it once.
func Mount(server *mcpserver.Server, other *mcpgo.MCPServer, o *Options) (unmount func(), err error) {
	b := newBridge(other, o)
	if _, err = b.start(); err == nil {
		err = b.mount(server)
	}
	if err != nil {
		b.close()
		return nil, fmt.Errorf("mount: %w", err)
	}
	return b.close, nil
}

// NewServer returns a server with all features of a server of mcp-go, and with its name,
// version, title and instructions, unless the options of the server have others. Both
// options may be nil. What it returns is served as any other server, such as by
// mcpserver.Main.
func NewServer(other *mcpgo.MCPServer, server *mcpserver.Options, o *Options) (*mcpserver.Server, error) {
	var options mcpserver.Options
	if server != nil {
		options = *server
	}
	b := newBridge(other, o)
	about, err := b.start()
	if err != nil {
		b.close()
		return nil, fmt.Errorf("server of mcp-go: %w", err)
	}
	if options.Instructions == "" {
		options.Instructions = about.Instructions
	}
	if options.Title == "" {
		options.Title = about.ServerInfo.Title
	}
	mounted := mcpserver.New(about.ServerInfo.Name, about.ServerInfo.Version, &options)
	if err := b.mount(mounted); err != nil {
		b.close()
		return nil, fmt.Errorf("server of mcp-go: %w", err)
	}
	return mounted, nil
}

// start opens the bridge's own session and returns what the other server says about itself.
func (b *bridge) start() (*mcp.InitializeResult, error) {
	link, about, err := b.open(nil)
	if err != nil {
		return nil, err
	}
	b.own = link
	if about.ServerInfo.Name == "" {
		return nil, errors.New("it has no name")
	}
	b.completes = about.Capabilities.Completions != nil
	b.subscribes = about.Capabilities.Resources != nil && about.Capabilities.Resources.Subscribe
	return about, nil
}

// mount registers the features of the other server.
func (b *bridge) mount(server *mcpserver.Server) error {
	m := mirror.New(server, b)
	m.Options, m.Completes, m.Subscribes = b.options.Features, b.completes, b.subscribes
	b.mirror = m
	if err := m.Sync(b.ctx); err != nil {
		m.Remove()
		return err
	}
	server.Use(b.forwardNotifications)
	b.running.Go(func() { b.follow(server) })
	return nil
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
					link.notify(ctx, r.Method(), nil)
				}
			}
		}
		return next(ctx, r)
	}
}
