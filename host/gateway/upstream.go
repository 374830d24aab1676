package gateway

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// upstream is one server and the client that speaks to it.
type upstream struct {
	host.Upstream
	gateway *Gateway
	changed chan struct{} // one token: its lists may have changed
	settled chan struct{} // closed when it is ready or has failed for the first time

	mu      sync.Mutex // guards the fields below
	client  *mcpclient.Client
	catalog catalog
	status  host.Status
	refused []string   // what of the catalog cannot be offered, and why
	offered []mcp.Tool // as clients see them
}

func newUpstream(g *Gateway, u host.Upstream) *upstream {
	return &upstream{
		Upstream: u,
		gateway:  g,
		changed:  make(chan struct{}, 1),
		settled:  make(chan struct{}),
		status:   host.Status{Key: u.Key, Reached: u.Reached, State: host.Starting},
	}
}

// run connects to the upstream, and offers what it has until ctx is done.
//
//	run
//	 ├─ connect      once; a connection that is lost later the client makes anew
//	 └─ refresh      at first, and whenever the lists may have changed
//	     ├─ list     the catalog
//	     └─ merge    into what the gateway's server offers
func (u *upstream) run(ctx context.Context) {
	settle := sync.OnceFunc(func() { close(u.settled) })
	defer settle()
	client, err := mcpclient.Connect(ctx, u.Target, u.clientOptions())
	if err != nil {
		u.failed(err)
		return
	}
	defer u.close(client)
	u.mu.Lock()
	u.client = client
	u.mu.Unlock()
	for {
		u.refresh(ctx, client)
		settle()
		select {
		case <-u.changed:
		case <-ctx.Done():
			return
		}
	}
}

func (u *upstream) close(client *mcpclient.Client) {
	if err := client.Close(); err != nil {
		u.gateway.options.logger().Warn("upstream does not end", "upstream", u.Key, "error", err)
	}
}

// clientOptions declare no capabilities: nothing that an upstream could ask for
// is relayed, so it must not wait for an answer. Calls have no timeout of their
// own: the caller decides how long it waits, up to the client's maximum.
func (u *upstream) clientOptions() *mcpclient.Options {
	changed := func(context.Context, *mcpclient.Client) { u.touch() }
	return &mcpclient.Options{
		Info:               mcp.Implementation{Name: "fondaco", Title: "Fondaco", Version: host.Version},
		Header:             u.Header,
		OnToolsChanged:     changed,
		OnPromptsChanged:   changed,
		OnResourcesChanged: changed,
		OnEvent:            u.heard,
		Timeout:            -1,
		Logger:             u.gateway.options.logger().With("upstream", u.Key),
	}
}

// heard follows the connection. A lost one is made anew by the client, and the
// lists are read again.
func (u *upstream) heard(_ context.Context, e mcpclient.Event) {
	switch e.Kind {
	case mcpclient.EventLost:
		u.failed(fmt.Errorf("connection lost: %w", e.Err))
	case mcpclient.EventReinitialised:
		u.touch()
	}
}

// touch has the lists read again.
func (u *upstream) touch() {
	select {
	case u.changed <- struct{}{}:
	default:
	}
}

// refresh reads the lists of the upstream and offers what they hold.
func (u *upstream) refresh(ctx context.Context, client *mcpclient.Client) {
	cat, omitted, err := list(ctx, client)
	if err != nil {
		u.failed(err)
		return
	}
	u.mu.Lock()
	u.catalog = cat
	u.status.Revision, u.status.Omitted = client.Revision(), omitted
	u.mu.Unlock()
	u.gateway.merge()
	u.become(host.Ready, "")
}

// listed returns what the upstream has offered last.
func (u *upstream) listed() catalog {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.catalog
}

// merged notes what has become of the catalog.
func (u *upstream) merged(now *offers, refused []string) {
	var offered []mcp.Tool
	for _, t := range u.listed().tools {
		if o, ok := now.tools[host.WireName(u.Key, t.Name)]; ok && o.from == u && o.name == t.Name {
			offered = append(offered, o.def)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.refused, u.offered = refused, offered
}

func (u *upstream) tools() []mcp.Tool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.offered
}

func (u *upstream) failed(err error) { u.become(host.Failed, err.Error()) }

// become changes the state, and tells whoever wants to know of it.
func (u *upstream) become(state host.State, reason string) {
	u.mu.Lock()
	same := u.status.State == state && u.status.Reason == reason
	u.status.State, u.status.Reason = state, reason
	u.mu.Unlock()
	if tell := u.gateway.options.orZero().OnStatus; tell != nil && !same {
		tell(u.describe())
	}
}

func (u *upstream) describe() host.Status {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.status
	s.Omitted = slices.Concat(s.Omitted, u.refused)
	s.Tools, s.Prompts = len(u.catalog.tools), len(u.catalog.prompts)
	s.Resources, s.Templates = len(u.catalog.resources), len(u.catalog.templates)
	return s
}
