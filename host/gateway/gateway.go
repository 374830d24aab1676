// Package gateway brings many MCP servers, the upstreams, to clients as one server. It is
// a client of each upstream:
//
//	client ── mcpserver ── forward ──┬── connection ── mcpclient ── upstream
//	              ▲                  ├── connection ── mcpclient ── upstream
//	              └── merge ── catalogs of the upstreams
//
// The gateway never copies messages from one side to the other. It decodes what it reads
// and encodes it again: each side has its own revision, ids, cursors and progress tokens.
package gateway

import (
	"context"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/catalog"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// maxRounds limits the rounds of a call: 8 for the upstream, as many as a server of this
// SDK allows, and 8 for the host.
const maxRounds = 8 + 8

// Gateway is a set of upstreams behind one server. All methods are safe for concurrent
// use.
type Gateway struct {
	options               *Options
	server                *mcpserver.Server
	catalog               *catalog.Set
	resourceSubscriptions subscriptions
	processPlaces         *mcpserver.OwnerPool // of the processes that run for callers
	consentedRounds       consentedRounds

	reloading sync.Mutex  // held during Reload and Close
	mu        sync.Mutex  // guards the fields below
	upstreams []*upstream // in the order given, in which templates compete

	// Lifetime.
	ctx    context.Context
	cancel context.CancelFunc
}

// New returns a gateway to the upstreams, whose keys must differ. Nothing is started yet.
// If two upstreams have the same resource, its URI leads to the one that has listed it first,
// and host.QualifiedURI to the other.
func New(upstreams []host.Upstream, o *Options) *Gateway {
	g := &Gateway{
		options:       o,
		catalog:       catalog.NewSet(),
		processPlaces: mcpserver.NewOwnerPool(mcpserver.OwnerPoolOptions{Total: link.MaxCallerProcesses, KeepBusy: true}),
	}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.server = mcpserver.New("fondaco", host.Version, &mcpserver.Options{
		Title:           "Fondaco",
		Description:     "Many MCP servers behind one endpoint",
		Dynamic:         true,
		RequestFeatures: g.catalog.RequestFeatures,
		Logger:          o.logger(),
		Keys:            o.orZero().Keys,
		Store:           o.orZero().Store,
		Bus:             o.orZero().Bus,
		HTTP:            o.orZero().HTTP,
		Ask:             &mcpserver.AskOptions{MaxRounds: maxRounds},
	})
	g.server.Use(g.recordHidden, g.relayRootChanges, g.relayLogLevels, g.addInstructions, g.readCapabilityLists, g.waitForUpstreams, g.refreshOldLists, g.retryUnknown, g.addUnlistedResources, g.relaySubscriptions)
	g.catalog.Register(g.server, g.readResource)
	for _, u := range upstreams {
		up := newUpstream(g, u)
		g.upstreams = append(g.upstreams, up)
		g.catalog.Add(up.source)
	}
	return g
}

// Server returns the server that clients see.
func (g *Gateway) Server() *mcpserver.Server { return g.server }

// Start starts all upstreams except lazy ones, at the same time. It returns when each of
// them is ready or has failed, when Options.StartTimeout is over, or when ctx ends. It
// must be called once.
func (g *Gateway) Start(ctx context.Context) {
	all := g.list()
	for _, u := range all {
		u.start()
	}
	for _, u := range all {
		u.waitForStart(ctx)
	}
}

func (g *Gateway) list() []*upstream {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.upstreams
}

// byKey returns the upstream of a key, or nil.
func (g *Gateway) byKey(key string) *upstream {
	all := g.list()
	i := slices.IndexFunc(all, func(u *upstream) bool { return u.Key == key })
	if i < 0 {
		return nil
	}
	return all[i]
}

// Retry connects to an upstream at once if its last attempt failed, or needed approval or
// a sign-in; this includes an attempt that is under way. It also filters the definitions again,
// and reports whether the upstream exists.
func (g *Gateway) Retry(key string) bool {
	u := g.byKey(key)
	if u == nil {
		return false
	}
	u.source.Refilter()
	u.pool.Retry()
	return true
}

// Status describes the upstreams, in their order.
func (g *Gateway) Status() []host.Status {
	all := g.list()
	statuses := make([]host.Status, len(all))
	for i, u := range all {
		statuses[i] = u.status()
	}
	return statuses
}

// Tools returns the tools that clients see now, in the order of the upstreams.
func (g *Gateway) Tools() []mcp.Tool {
	var all []mcp.Tool
	for _, u := range g.list() {
		all = append(all, u.source.Tools()...)
	}
	return all
}

// Close closes the connections to all upstreams, ends the processes that were started,
// and waits for them. Shut the server down first.
func (g *Gateway) Close() {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	g.cancel()
	closeAll(g.list())
}

// closeAll closes upstreams at the same time and waits for all of them.
func closeAll(upstreams []*upstream) {
	var work sync.WaitGroup
	for _, u := range upstreams {
		work.Go(u.pool.Close)
	}
	work.Wait()
}
