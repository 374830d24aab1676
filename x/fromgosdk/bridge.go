package fromgosdk

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/x/internal/mirror"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// revision is what the sessions of the other server speak: the newest revision in which a
// handler can send requests to the client.
const revision = "2025-11-25"

// statelessRevision is what handlers that return their questions see in the stateless era.
const statelessRevision = "2026-07-28"

var errUnmounted = errors.New("the server of go-sdk is unmounted")

// bridge connects a server to a server of go-sdk. It implements mirror.Foreign.
type bridge struct {
	other                 *gosdk.Server
	mirror                *mirror.Mirror
	completes, subscribes bool
	inputRequests         bool             // handlers return questions in the stateless era
	own                   *link            // for the mirror's own requests
	updated               func(uri string) // Server.Updated
	changed               chan struct{}    // a list of the other server has changed

	ctx     context.Context // ends when the bridge is closed
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	links map[*mcpserver.Session]*sessionLink  // guarded by mu
	calls map[*gosdk.RequestExtra]*runningCall // guarded by mu
}

// sessionLink is the link of a session, which the first caller of open opens.
type sessionLink struct {
	open func() (*link, error)
}

func newBridge(other *gosdk.Server) *bridge {
	b := &bridge{
		other: other, changed: make(chan struct{}, 1),
		links: make(map[*mcpserver.Session]*sessionLink), calls: make(map[*gosdk.RequestExtra]*runningCall),
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	other.AddReceivingMiddleware(b.receive)
	return b
}

// close removes the features, ends all sessions of the other server, and waits for them.
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
	for _, l := range links {
		if link, err := l.open(); err == nil {
			link.close()
		}
	}
	if b.own != nil {
		b.own.close()
	}
}

// Do implements mirror.Foreign. A call of a session uses the link of the session; any other
// call has a link for itself.
func (b *bridge) Do(ctx context.Context, method string, params any) (jsontext.Value, error) {
	c := mirror.CallFrom(ctx)
	if c == nil {
		return b.own.do(ctx, nil, method, params)
	}
	if c.Request().Session() != nil {
		link, err := b.linkOf(c.Request())
		if err != nil {
			return nil, err
		}
		return link.do(ctx, c, method, params)
	}
	link, err := b.openOnce(c.Request())
	if err != nil {
		return nil, err
	}
	defer link.close()
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
	l, ok := b.links[s]
	if !ok {
		l = &sessionLink{open: sync.OnceValues(func() (*link, error) {
			link, _, err := b.open(r)
			return link, err
		})}
		b.links[s] = l
		context.AfterFunc(s.Context(), func() { b.closeSession(s) })
	}
	b.mu.Unlock()
	return l.open()
}

func (b *bridge) closeSession(s *mcpserver.Session) {
	b.mu.Lock()
	l, ok := b.links[s]
	delete(b.links, s)
	b.mu.Unlock()
	if !ok {
		return // the bridge closes it
	}
	if link, err := l.open(); err == nil {
		link.close()
	}
}

// receive is the outermost receiving middleware of the other server. It gives the handler a
// context with the values of the call, and contains panics.
func (b *bridge) receive(next gosdk.MethodHandler) gosdk.MethodHandler {
	return func(ctx context.Context, method string, req gosdk.Request) (result gosdk.Result, err error) {
		b.mu.Lock()
		c := b.calls[req.GetExtra()]
		b.mu.Unlock()
		defer func() {
			if v := recover(); v != nil {
				err = errors.New("the handler panicked")
				if c != nil {
					c.panicked = fmt.Sprintf("%v\n\n%s", v, debug.Stack())
				}
			}
		}()
		if c != nil {
			ctx = callContext{ctx, c.ctx}
		}
		return next(ctx, method, req)
	}
}

// callContext is the context of a handler of the other server, which ends with its request
// there. It has the values of both servers.
type callContext struct {
	context.Context
	call context.Context
}

func (c callContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.call.Value(key)
}
