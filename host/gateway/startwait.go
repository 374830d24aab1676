package gateway

import (
	"context"
	"encoding/json/v2"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// waitForUpstreams is middleware that delays requests for features while upstreams start,
// and starts lazy upstreams whose features are not known yet. It waits for an upstream up
// to Options.StartTimeout after its start, and not again.
func (g *Gateway) waitForUpstreams(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		if starting := slices.DeleteFunc(slices.Clone(g.list()), (*upstream).startFinished); len(starting) > 0 {
			waitForAll(ctx, upstreamsFor(r, starting))
		}
		return next(ctx, r)
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
	var named struct {
		Name string `json:"name"`
	}
	switch r.Method() {
	case mcp.MethodToolsList, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodPromptsList,
		mcp.MethodResourcesRead, mcp.MethodResourcesSubscribe, mcp.MethodComplete, mcp.MethodListen:
		return upstreams
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
		if json.Unmarshal(r.Params(), &named) != nil {
			return nil
		}
		key := host.KeyOf(named.Name)
		return slices.DeleteFunc(slices.Clone(upstreams), func(u *upstream) bool { return u.Key != key })
	}
	return nil
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
	timer := time.NewTimer(time.Until(u.startDeadline))
	u.mu.Unlock()
	defer timer.Stop()
	for {
		_, moved := u.pool.SharedConn().State()
		if u.startFinished() {
			return
		}
		select {
		case <-moved:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
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

// startsLate reports whether the upstream starts, and no request waits for it any more.
func (u *upstream) startsLate() bool {
	state, _ := u.pool.SharedConn().State()
	u.mu.Lock()
	defer u.mu.Unlock()
	return state == host.Starting && !time.Now().Before(u.startDeadline)
}
