package gateway

import (
	"context"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/catalog"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// maxRounds limits the rounds of a call: 8 for the upstream, as many as a server of this
// SDK allows, and 8 for the host.
const maxRounds = 8 + 8

// New returns a gateway to the upstreams, whose keys must differ. Nothing is started yet.
// If two upstreams have the same resource, its URI leads to the one that has listed it first,
// and host.QualifiedURI to the other.
func New(upstreams []host.Upstream, o *Options) *Gateway {
	g := &Gateway{
		options:       o,
		catalog:       catalog.NewSet(),
		processPlaces: mcpserver.NewOwnerPool(mcpserver.OwnerPoolOptions{Total: link.MaxCallerProcesses, KeepBusy: true}),
	}
	g.subscriptions.gateway = g
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.server = mcpserver.New("fondaco", host.Version, o.serverOptions(&mcpserver.Options{
		Title:           "Fondaco",
		Description:     "Many MCP servers behind one endpoint",
		Dynamic:         true,
		RequestFeatures: g.catalog.RequestFeatures,
		Logger:          o.logger(),
		OnMessage:       o.onMessage(""),
		OnLimit:         func(l mcp.LimitReached) { o.notifyLimit("", l) },
		Keys:            o.orZero().Keys,
		Store:           o.orZero().Store,
		Bus:             o.orZero().Bus,
		HTTP:            o.orZero().HTTP,
		Ask:             &mcpserver.AskOptions{MaxRounds: maxRounds},
	}))
	g.useMiddleware()
	g.catalog.Register(g.server, g.readResource)
	for _, u := range upstreams {
		up := newUpstream(g, u)
		g.upstreams = append(g.upstreams, up)
		g.catalog.Add(up.source)
	}
	return g
}

// useMiddleware installs the middlewares of the gateway. Each gets a request before those below it, and
// sees what they answer:
//
//	recordHidden          records calls of tools that are still unknown after retryUnknown
//	relayRootChanges      relays a notification, whatever happens to it below
//	relayLogLevels        sets a level at upstreams only if the server has accepted it
//	addInstructions       waits 2 s for upstreams; waitForUpstreams, which waits longer, leaves its methods out
//	readCapabilityLists   reads while upstreams start; below waitForUpstreams it would begin when they have
//	waitForUpstreams      below it, the features of upstreams are known that start in time
//	refreshOldLists       lists have an age only after they were read once
//	retryUnknown          sends a request down again after it has read lists, without the waits above
//	addUnlistedResources  decides anew, at each attempt, which resources that no list has a request can use
//	watchSubscribed       begins a watch only for a request that the server gets
//	 └─ server            finds the handler of a feature, see catalog.Set
func (g *Gateway) useMiddleware() {
	g.server.Use(
		g.recordHidden,
		g.relayRootChanges,
		g.relayLogLevels,
		g.addInstructions,
		g.readCapabilityLists,
		g.waitForUpstreams,
		g.refreshOldLists,
		g.retryUnknown,
		g.addUnlistedResources,
		g.subscriptions.watchSubscribed,
	)
}
