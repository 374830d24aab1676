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

const (
	// restartWait is how long a call of an unknown feature waits for an upstream whose last start has
	// failed, while it starts again.
	restartWait = 5 * time.Second
	// resourceWait limits all waits of a request for a resource that nobody lists: for upstreams that
	// start, which may have it, and for the features of the client's capabilities.
	resourceWait = 5 * time.Second
)

// waitForUpstreams is middleware that delays requests for features while upstreams start,
// and starts lazy upstreams whose features are not known yet.
//
//	a list                          waits up to Options.StartTimeout after the start of an upstream, and not again
//	a resource that nobody lists    likewise, 5 s at most, see waitForResources
//	a call of an unknown tool, etc. waits for the one upstream that its name has, see useStarting
//
// retryUnknown answers if a feature is unknown then because its upstream has never listed.
func (g *Gateway) waitForUpstreams(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		starting := slices.DeleteFunc(slices.Clone(g.list()), (*upstream).startFinished)
		if len(starting) == 0 {
			return next(ctx, r)
		}
		needed := upstreamsFor(r, starting)
		switch uris, isResource := resourcesOf(r); {
		case isResource:
			g.waitForResources(ctx, r, uris, needed)
		case kindOf(r).uses:
			return g.useStarting(ctx, r, needed, next)
		default:
			waitForAll(ctx, needed)
		}
		return next(ctx, r)
	}
}

// useStarting handles a request that uses a feature of an upstream that starts. As long as the feature
// is unknown it waits for the upstream, up to Options.CallStartTimeout, or 5 s if the last start has failed. If
// the upstream still starts then, the outcome says so.
func (g *Gateway) useStarting(ctx context.Context, r *mcpserver.Request, starting []*upstream, next mcpserver.Handler) (any, error) {
	now := time.Now()
	ctx = link.WithStartDeadline(ctx, now.Add(g.options.callStartTimeout())) // the wait for a connection counts, too
	for _, u := range starting {
		defer u.wakeIfIdle()()
		deadline := now.Add(g.options.callStartTimeout())
		if u.pool.SharedConn().HasFailed() {
			deadline = now.Add(min(restartWait, g.options.callStartTimeout()))
		}
		for !u.startFinished() && !u.knowsFeature(r) {
			switch {
			case ctx.Err() != nil:
				return nil, context.Cause(ctx)
			case !time.Now().Before(deadline):
				return relay.StillStarting(r.Method(), u.Key)
			}
			waitForOne(ctx, []*upstream{u}, deadline)
		}
	}
	return next(ctx, r)
}

// knowsFeature reports whether the tool or prompt is known that a request uses.
func (u *upstream) knowsFeature(r *mcpserver.Request) bool {
	f, ok := decodeNamed(r)
	if !ok {
		return true
	}
	view := u.source.View(link.CallerOf(r))
	if kindOf(r).names == namesByReference {
		return view.Offers(mcp.MethodPromptsGet, f.Ref.Name)
	}
	return view.Offers(r.Method(), f.Name)
}

// waitForResources waits for upstreams that start and may have the resources of a request, unless all
// resources are listed. An upstream is waited for until Options.StartTimeout after its start, and only
// if it has never listed, so that one that does not answer delays few requests, and each of them little.
func (g *Gateway) waitForResources(ctx context.Context, r *mcpserver.Request, uris []string, starting []*upstream) {
	if g.listsAll(r, uris) {
		return
	}
	limit := mcpserver.StartedAt(ctx).Add(resourceWait)
	for _, u := range starting {
		defer u.wakeIfIdle()()
	}
	for ctx.Err() == nil {
		now := time.Now()
		starting = slices.DeleteFunc(starting, func(u *upstream) bool {
			return u.startFinished() || u.source.IsListed() || !now.Before(u.listDeadline())
		})
		if len(starting) == 0 || !now.Before(limit) || g.listsAll(r, uris) {
			return
		}
		deadline := limit
		for _, u := range starting {
			if until := u.listDeadline(); until.Before(deadline) {
				deadline = until
			}
		}
		waitForOne(ctx, starting, deadline)
	}
}

// listsAll reports whether upstreams have listed, or named to the sender of a request, all resources that it
// is about, or have the template.
func (g *Gateway) listsAll(r *mcpserver.Request, uris []string) bool {
	caller := link.CallerOf(r)
	return !slices.ContainsFunc(uris, func(uri string) bool {
		if kindOf(r).names == namesByReference {
			return !slices.ContainsFunc(g.list(), func(u *upstream) bool { return u.source.View(caller).OffersTemplate(uri) })
		}
		return !g.catalog.IsClaimed(caller, uri)
	})
}

// isNotAsked reports whether the upstream may have features that are not known, because it has not
// started so far.
func (u *upstream) isNotAsked() bool {
	state, _ := u.pool.SharedConn().State()
	return !u.source.IsListed() && (state == host.Starting || state == host.Failed || state == host.Suspended)
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

// upstreamsFor returns the upstreams that are needed to answer a request. A tool, a prompt or a
// qualified URI belongs to one; a list or another URI may need all.
func upstreamsFor(r *mcpserver.Request, upstreams []*upstream) []*upstream {
	var key string
	f, _ := decodeNamed(r)
	switch kind := kindOf(r); {
	case kind.names == 0:
		return nil
	case kind.names == namesByName:
		key = host.KeyOf(f.Name)
	case kind.names == namesByReference && f.Ref.Type != mcp.RefResource:
		key = host.KeyOf(f.Ref.Name)
	default:
		uris, ok := resourcesOf(r)
		if !ok || len(uris) != 1 || !host.IsQualified(uris[0]) {
			return upstreams
		}
		key, _, _ = host.ParseQualifiedURI(uris[0])
	}
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

// listDeadline returns until when requests for lists wait for the start.
func (u *upstream) listDeadline() time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.startDeadline
}

// waitForStart waits until startFinished, the end of the start timeout, or the end of
// ctx.
func (u *upstream) waitForStart(ctx context.Context) {
	ctx, cancel := context.WithDeadline(ctx, u.listDeadline())
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
	return !u.Settings.Lazy && time.Now().Before(u.listDeadline()) && !u.startFinished()
}
