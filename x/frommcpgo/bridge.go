package frommcpgo

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/x/internal/mirror"
	mcpgo "github.com/mark3labs/mcp-go/server"
)

var errUnmounted = errors.New("the server of mcp-go is unmounted")

// bridge connects a server to a server of mcp-go. It implements mirror.Foreign.
type bridge struct {
	other                 *mcpgo.MCPServer
	options               Options
	mirror                *mirror.Mirror
	completes, subscribes bool
	own                   *link // for the mirror's own requests

	ctx     context.Context // ends when the bridge is closed
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	links map[*mcpserver.Session]func() (*link, error) // the first call opens the link; guarded by mu
}

func newBridge(other *mcpgo.MCPServer, o *Options) *bridge {
	b := &bridge{other: other, links: make(map[*mcpserver.Session]func() (*link, error))}
	if o != nil {
		b.options = *o
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// close removes the features and ends all sessions of the other server.
func (b *bridge) close() {
	b.cancel()
	b.running.Wait()
	if b.mirror != nil {
		b.mirror.Remove()
	}
	b.mu.Lock()
	links := b.links
	b.links = nil
	b.mu.Unlock()
	for _, open := range links {
		if link, err := open(); err == nil {
			link.close()
		}
	}
	if b.own != nil {
		b.own.close()
	}
}

// follow handles the notifications that the bridge's own session gets, until the bridge is
// closed: changes of lists, and updates of resources.
func (b *bridge) follow(server *mcpserver.Server) {
	for {
		select {
		case <-b.ctx.Done():
			return
		case n := <-b.own.session.ClientNotifications():
			switch n.Method {
			case mcp.NotificationToolsListChanged, mcp.NotificationPromptsListChanged, mcp.NotificationResourcesListChanged:
				if err := b.mirror.Sync(b.ctx); err != nil && b.ctx.Err() == nil && b.options.OnError != nil {
					b.options.OnError(err)
				}
			case mcp.NotificationResourceUpdated:
				if uri, ok := n.Params.AdditionalFields["uri"].(string); ok {
					server.Updated(uri)
				}
			}
		}
	}
}

// Do implements mirror.Foreign. A call of a session uses the link of the session; any other
// call has a link for itself.
func (b *bridge) Do(ctx context.Context, method string, params any) (jsontext.Value, error) {
	c := mirror.CallFrom(ctx)
	if c == nil {
		return b.own.do(ctx, nil, method, params)
	}
	if b.options.Context != nil {
		ctx = b.options.Context(ctx, c.Request())
	}
	if c.Request().Session() == nil {
		link, err := b.openOnce(c.Request())
		if err != nil {
			return nil, err
		}
		return link.do(ctx, c, method, params)
	}
	link, err := b.linkOf(c.Request())
	if err != nil {
		return nil, err
	}
	return link.do(ctx, c, method, params)
}

// linkOf returns the link of the session of a request. The first call opens it.
func (b *bridge) linkOf(r *mcpserver.Request) (*link, error) {
	s := r.Session()
	b.mu.Lock()
	if b.links == nil {
		b.mu.Unlock()
		return nil, errUnmounted
	}
	open, ok := b.links[s]
	if !ok {
		open = sync.OnceValues(func() (*link, error) {
			link, _, err := b.open(r)
			return link, err
		})
		b.links[s] = open
		context.AfterFunc(s.Context(), func() { b.closeSession(s) })
	}
	b.mu.Unlock()
	return open()
}

func (b *bridge) closeSession(s *mcpserver.Session) {
	b.mu.Lock()
	open, ok := b.links[s]
	delete(b.links, s)
	b.mu.Unlock()
	if !ok {
		return // the bridge closes it
	}
	if link, err := open(); err == nil {
		link.close()
	}
}
