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

// awaitUpstreams is middleware that lets requests for features wait for upstreams
// that start, and has lazy ones started whose features are not known yet. An
// upstream is waited for until the time for its start is over, and not again.
func (g *Gateway) awaitUpstreams(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		if missing := slices.DeleteFunc(slices.Clone(g.all()), (*upstream).settled); len(missing) > 0 {
			awaitAll(ctx, concerned(r, missing))
		}
		return next(ctx, r)
	}
}

func awaitAll(ctx context.Context, upstreams []*upstream) {
	for _, u := range upstreams {
		defer u.need()()
	}
	for _, u := range upstreams {
		u.await(ctx)
	}
}

// concerned returns those of upstreams without which a request cannot be answered
// well. A name tells which it is; a URI does not.
func concerned(r *mcpserver.Request, upstreams []*upstream) []*upstream {
	var named struct {
		Name string `json:"name"`
	}
	switch r.Method {
	case mcp.MethodToolsList, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodPromptsList,
		mcp.MethodResourcesRead, mcp.MethodResourcesSubscribe, mcp.MethodComplete, mcp.MethodListen:
		return upstreams
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
		if json.Unmarshal(r.Params, &named) != nil {
			return nil
		}
		key := host.KeyOf(named.Name)
		return slices.DeleteFunc(slices.Clone(upstreams), func(u *upstream) bool { return u.Key != key })
	}
	return nil
}

// settled reports whether there is nothing to wait for: the upstream is ready or
// has failed, or is idle with its features known.
func (u *upstream) settled() bool {
	u.mu.Lock()
	known := u.known
	u.mu.Unlock()
	state, _ := u.house.current()
	return state != host.Starting && (state != host.Idle || known)
}

// need has a lazy upstream started whose features are not known yet. It is needed
// until done is called.
func (u *upstream) need() (done func()) {
	if state, _ := u.house.current(); state != host.Idle {
		return func() {}
	}
	u.mu.Lock()
	u.awaited = time.Now().Add(u.gateway.options.startTimeout())
	u.mu.Unlock()
	u.house.enter()
	u.house.wake()
	return u.house.leave
}

// await waits until the upstream has settled, the time for its start is over, or
// ctx ends.
func (u *upstream) await(ctx context.Context) {
	u.mu.Lock()
	enough := time.NewTimer(time.Until(u.awaited))
	u.mu.Unlock()
	defer enough.Stop()
	for {
		_, moved := u.house.current()
		if u.settled() {
			return
		}
		select {
		case <-moved:
		case <-enough.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
