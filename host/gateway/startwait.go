package gateway

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/host/gateway/relay"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// waitForUpstreams is middleware that delays requests for features while upstreams start,
// and starts lazy upstreams whose features are not known yet. It waits for an upstream up
// to Options.StartTimeout after its start, and not again. A request that uses a feature which
// may be of an upstream that still starts waits longer, see useStarting.
func (g *Gateway) waitForUpstreams(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		starting := slices.DeleteFunc(slices.Clone(g.list()), (*upstream).startFinished)
		if len(starting) == 0 {
			return next(ctx, r)
		}
		needed := upstreamsFor(r, starting)
		if kindOf(r).uses {
			return g.useStarting(ctx, r, needed, next)
		}
		waitForAll(ctx, needed)
		return next(ctx, r)
	}
}

// useStarting handles a request that uses a feature while upstreams start that may have it. As long as
// the feature is unknown it waits for them, up to Options.CallStartTimeout. If one of them still
// starts then, the outcome says so.
func (g *Gateway) useStarting(ctx context.Context, r *mcpserver.Request, starting []*upstream, next mcpserver.Handler) (any, error) {
	deadline := time.Now().Add(g.options.callStartTimeout())
	ctx = link.WithStartDeadline(ctx, deadline) // the wait for a connection counts, too
	for _, u := range starting {
		defer u.wakeIfIdle()()
	}
	if kindOf(r).names != namesByName {
		waitForAll(ctx, starting) // one of them may have listed the resource before the others
	}
	for {
		starting = slices.DeleteFunc(starting, (*upstream).startFinished)
		switch {
		case len(starting) == 0 || g.knowsFeature(ctx, r, starting[0]):
			return next(ctx, r)
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !time.Now().Before(deadline):
			return relay.StillStarting(r.Method(), starting[0].Key)
		}
		waitForOne(ctx, starting, deadline)
	}
}

// knowsFeature reports whether the feature is known that a request uses. A tool or prompt is one of
// the given upstream, a resource of any one.
func (g *Gateway) knowsFeature(ctx context.Context, r *mcpserver.Request, u *upstream) bool {
	f, ok := decodeNamed(r)
	if !ok {
		return true
	}
	caller := link.CallerOf(r)
	switch kind := kindOf(r); {
	case kind.names == namesByURI:
		return g.catalog.HasResource(ctx, r, f.URI)
	case kind.names == namesByName:
		return u.source.View(caller).Offers(r.Method(), f.Name)
	case f.Ref.Type == mcp.RefPrompt:
		return u.source.View(caller).Offers(mcp.MethodPromptsGet, f.Ref.Name)
	}
	return slices.ContainsFunc(g.list(), func(u *upstream) bool { return u.source.View(caller).OffersTemplate(f.Ref.URI) })
}

// waitForOne waits until one of the upstreams has started, at most until the deadline, and tells the
// caller of ctx about it.
func waitForOne(ctx context.Context, upstreams []*upstream, deadline time.Time) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	started := make(chan struct{}, len(upstreams))
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	for _, u := range upstreams {
		work.Go(func() {
			if u.awaitStart(ctx) {
				started <- struct{}{}
			}
		})
	}
	report := time.NewTicker(link.StartReportInterval)
	defer report.Stop()
	for {
		select {
		case <-started:
			return
		case <-report.C:
			relay.ReportStart(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func waitForAll(ctx context.Context, upstreams []*upstream) {
	for _, u := range upstreams {
		defer u.wakeIfIdle()()
	}
	for _, u := range upstreams {
		u.waitForStart(ctx)
	}
}

// upstreamsFor returns the upstreams that are needed to answer a request. A tool or
// prompt belongs to one; a list or a URI may need all.
func upstreamsFor(r *mcpserver.Request, upstreams []*upstream) []*upstream {
	var wire string
	switch kindOf(r).names {
	case namesAll, namesByURI, namesBySubscription:
		return upstreams
	case namesByName:
		f, _ := decodeNamed(r)
		wire = f.Name
	case namesByReference:
		f, _ := decodeNamed(r)
		if f.Ref.Type == mcp.RefResource {
			return upstreams
		}
		wire = f.Ref.Name
	default:
		return nil
	}
	key := host.KeyOf(wire)
	return slices.DeleteFunc(slices.Clone(upstreams), func(u *upstream) bool { return u.Key != key })
}

// startFinished reports whether there is nothing to wait for: the upstream is ready or
// has failed, or it is idle and its features are known.
func (u *upstream) startFinished() bool {
	state, _ := u.pool.SharedConn().State()
	return state != host.Starting && (state != host.Idle || u.source.IsRead())
}

// wakeIfIdle starts an idle upstream whose features are not known yet, and keeps it from
// becoming idle until done is called.
func (u *upstream) wakeIfIdle() (done func()) {
	if state, _ := u.pool.SharedConn().State(); state != host.Idle {
		return func() {}
	}
	u.mu.Lock()
	u.startDeadline = time.Now().Add(u.gateway.options.startTimeout())
	u.mu.Unlock()
	return u.pool.SharedConn().Hold()
}

// waitForStart waits until startFinished, the end of the start timeout, or the end of
// ctx.
func (u *upstream) waitForStart(ctx context.Context) {
	u.mu.Lock()
	deadline := u.startDeadline
	u.mu.Unlock()
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	u.awaitStart(ctx)
}

// awaitStart waits until startFinished, and reports false if ctx ends before.
func (u *upstream) awaitStart(ctx context.Context) bool {
	for {
		_, moved := u.pool.SharedConn().State()
		if u.startFinished() {
			return true
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return false
		}
	}
}

// wakeAndWait starts the upstream if it is idle and its features are not known yet, and waits for the
// start.
func (u *upstream) wakeAndWait(ctx context.Context) {
	if !u.startFinished() {
		waitForAll(ctx, []*upstream{u})
	}
}

// isFirstStart reports whether the upstream still starts for the first time, together with the
// gateway.
func (u *upstream) isFirstStart() bool {
	u.mu.Lock()
	late := !time.Now().Before(u.startDeadline)
	u.mu.Unlock()
	return !u.Settings.Lazy && !late && !u.startFinished()
}
