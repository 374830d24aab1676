package gateway

import (
	"context"
	"sync"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

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

// ClearMissingScopes removes the scopes that calls have lacked from the status of an upstream, after a sign-in that has
// requested them.
func (g *Gateway) ClearMissingScopes(key string) {
	if u := g.byKey(key); u != nil {
		u.pool.SharedConn().ClearMissingScopes()
	}
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

// Running returns the keys of the programs that have not ended yet. It may be called during Close.
func (g *Gateway) Running() (keys []string) {
	for _, u := range g.list() {
		if u.connector.isProgram() && u.pool.IsRunning() {
			keys = append(keys, u.Key)
		}
	}
	return keys
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
