// Package gateway brings many MCP servers, the upstreams, to clients as one server. It is
// a client of each upstream:
//
//	client ── mcpserver ── handlers ── relay ──┬── link ── mcpclient ── upstream
//	              ▲                            ├── link ── mcpclient ── upstream
//	              └── catalog: what the upstreams offer
//
// Package catalog knows what upstreams offer, and to whom, package relay what is sent to them and back,
// and package link their connections. This one wires the three for each upstream, decides what may be
// started and called, and records it.
//
// The gateway never copies messages from one side to the other. It decodes what it reads
// and encodes it again: each side has its own revision, ids, cursors and progress tokens.
package gateway

import (
	"context"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/host/gateway/catalog"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Gateway is a set of upstreams behind one server. All methods are safe for concurrent
// use.
type Gateway struct {
	options         *Options
	server          *mcpserver.Server
	catalog         *catalog.Set
	subscriptions   subscriptions
	processPlaces   *mcpserver.OwnerPool // of the processes that run for callers
	consentedRounds consentedRounds

	reloading sync.Mutex  // held during Reload and Close
	mu        sync.Mutex  // guards the fields below
	upstreams []*upstream // in the order given, in which templates compete

	// Lifetime.
	ctx    context.Context
	cancel context.CancelFunc
}

// Server returns the server that clients see.
func (g *Gateway) Server() *mcpserver.Server { return g.server }

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
