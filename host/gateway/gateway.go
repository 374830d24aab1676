// Package gateway brings many MCP servers, the upstreams, to clients as one. It
// is a client of each upstream and one server in front of them all:
//
//	client ── mcpserver ── forward ──┬── mcpclient ── upstream
//	              ▲                  ├── mcpclient ── upstream
//	              └── merge ── catalogs of the upstreams
//
// Meaning is passed on, never frames: each side speaks the revision that it
// agreed on with its peer, has its own ids, cursors and progress tokens, and
// checks what it reads.
package gateway

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Options of a Gateway. The zero value, like a nil pointer, gives the defaults.
type Options struct {
	// StartTimeout is how long Start waits for upstreams. Those that take longer
	// join when they are ready. Default: 10 seconds.
	StartTimeout time.Duration
	// OnStatus hears of an upstream whose state has changed. It is called from
	// several goroutines, and must not call Close.
	OnStatus func(host.Status)
	// HTTP holds what concerns the handlers of the server for HTTP.
	HTTP *mcpserver.HTTPOptions
	// Logger receives what an operator should know. Default: slog.Default().
	Logger *slog.Logger
}

func (o *Options) orZero() *Options {
	if o == nil {
		return new(Options)
	}
	return o
}

func (o *Options) startTimeout() time.Duration {
	return cmp.Or(o.orZero().StartTimeout, 10*time.Second)
}

func (o *Options) logger() *slog.Logger { return cmp.Or(o.orZero().Logger, slog.Default()) }

// Gateway is a set of upstreams behind one server. All methods are safe for
// concurrent use.
type Gateway struct {
	options   *Options
	server    *mcpserver.Server
	upstreams []*upstream // in the order given, which decides between them
	merger    merger
	followed  followed

	// Lifetime.
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
}

// New returns a gateway to the upstreams, whose keys have to differ. Nothing is
// started yet. Of two upstreams that claim one resource the first has it.
func New(upstreams []host.Upstream, o *Options) *Gateway {
	g := &Gateway{options: o, merger: merger{now: newOffers()}}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.server = mcpserver.New("fondaco", host.Version, &mcpserver.Options{
		Title:       "Fondaco",
		Description: "Many MCP servers behind one endpoint",
		Logger:      o.logger(),
		HTTP:        o.orZero().HTTP,
	})
	g.server.Use(g.followWatched)
	for _, u := range upstreams {
		g.upstreams = append(g.upstreams, newUpstream(g, u))
	}
	return g
}

// Server returns the server that clients see.
func (g *Gateway) Server() *mcpserver.Server { return g.server }

// Start starts all upstreams side by side, and returns when each of them is ready
// or has failed, when the time for it is over, or when ctx ends. It is called
// once.
func (g *Gateway) Start(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, g.options.startTimeout())
	defer cancel()
	for _, u := range g.upstreams {
		g.work.Go(func() { u.run(g.ctx) })
	}
	for _, u := range g.upstreams {
		select {
		case <-u.settled:
		case <-ctx.Done():
			return
		}
	}
}

// Status describes the upstreams, in their order.
func (g *Gateway) Status() []host.Status {
	all := make([]host.Status, len(g.upstreams))
	for i, u := range g.upstreams {
		all[i] = u.describe()
	}
	return all
}

// Tools returns the tools that clients see now, by upstream and in its order.
func (g *Gateway) Tools() []mcp.Tool {
	var all []mcp.Tool
	for _, u := range g.upstreams {
		all = append(all, u.tools()...)
	}
	return all
}

// Close ends the connections to all upstreams, and the programs that were
// started, and returns when nothing runs any more. Shut the server down before.
func (g *Gateway) Close() {
	g.cancel()
	g.followed.end()
	g.work.Wait()
}
