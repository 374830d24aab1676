// Package gateway brings many MCP servers, the upstreams, to clients as one. It
// is a client of each upstream and one server in front of them all:
//
//	client ── mcpserver ── forward ──┬── line ── mcpclient ── upstream
//	              ▲                  ├── line ── mcpclient ── upstream
//	              └── merge ── catalogs of the upstreams
//
// Meaning is passed on, never frames: each side speaks the revision that it
// agreed on with its peer, has its own ids, cursors and progress tokens, and
// checks what it reads.
package gateway

import (
	"context"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// maxRounds is how often a call may ask: as often as a server of ours does, and
// the host for itself besides.
const maxRounds = 8 + 8

// Gateway is a set of upstreams behind one server. All methods are safe for
// concurrent use.
type Gateway struct {
	options    *Options
	server     *mcpserver.Server
	merger     merger
	subscribed subscriptions
	links      links

	reloading sync.Mutex  // one change of the upstreams at a time
	mu        sync.Mutex  // guards the fields below
	upstreams []*upstream // in the order given, which decides between them

	// Lifetime.
	ctx    context.Context
	cancel context.CancelFunc
}

// New returns a gateway to the upstreams, whose keys have to differ. Nothing is
// started yet. Of two upstreams that claim one resource the first has it.
func New(upstreams []host.Upstream, o *Options) *Gateway {
	g := &Gateway{options: o, merger: merger{now: newOffers()}}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.server = mcpserver.New("fondaco", host.Version, &mcpserver.Options{
		Title:       "Fondaco",
		Description: "Many MCP servers behind one endpoint",
		Dynamic:     true,
		Logger:      o.logger(),
		HTTP:        o.orZero().HTTP,
		Ask:         &mcpserver.AskOptions{MaxRounds: maxRounds},
	})
	g.server.Use(g.recordHidden, g.relayRootChanges, g.awaitUpstreams, g.relayWatches, g.readLinked)
	for _, u := range upstreams {
		g.upstreams = append(g.upstreams, newUpstream(g, u))
	}
	return g
}

// Server returns the server that clients see.
func (g *Gateway) Server() *mcpserver.Server { return g.server }

// Start starts all upstreams side by side, but for lazy ones, and returns when
// each of them is ready or has failed, when the time for it is over, or when ctx
// ends. It is called once.
func (g *Gateway) Start(ctx context.Context) {
	all := g.all()
	for _, u := range all {
		u.start()
	}
	for _, u := range all {
		u.await(ctx)
	}
}

func (g *Gateway) all() []*upstream {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.upstreams
}

// named returns the upstream of a key, or nil.
func (g *Gateway) named(key string) *upstream {
	all := g.all()
	i := slices.IndexFunc(all, func(u *upstream) bool { return u.Key == key })
	if i < 0 {
		return nil
	}
	return all[i]
}

// Retry starts the upstream of a key at once if it has failed, or was waiting for
// the user to approve it or to sign in, or comes to that by what is under way. It
// looks again at its tools, and reports whether there is such an upstream.
func (g *Gateway) Retry(key string) bool {
	u := g.named(key)
	if u == nil {
		return false
	}
	u.screen()
	g.merge()
	u.retry()
	return true
}

// Status describes the upstreams, in their order.
func (g *Gateway) Status() []host.Status {
	all := g.all()
	statuses := make([]host.Status, len(all))
	for i, u := range all {
		statuses[i] = u.describe()
	}
	return statuses
}

// Tools returns the tools that clients see now, by upstream and in its order.
func (g *Gateway) Tools() []mcp.Tool {
	var all []mcp.Tool
	for _, u := range g.all() {
		all = append(all, u.tools()...)
	}
	return all
}

// Close ends the connections to all upstreams, and the programs that were
// started, and returns when nothing runs any more. Shut the server down before.
func (g *Gateway) Close() {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	g.cancel()
	closeAll(g.all())
}

// closeAll closes upstreams side by side.
func closeAll(upstreams []*upstream) {
	var work sync.WaitGroup
	for _, u := range upstreams {
		work.Go(u.close)
	}
	work.Wait()
}
