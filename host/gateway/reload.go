package gateway

import (
	"slices"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/catalog"
)

// Reload replaces the upstreams, whose keys must differ. An upstream that equals one of
// before is kept and not interrupted. Reload closes the others and waits for them, then
// starts the new ones without waiting.
func (g *Gateway) Reload(wanted []host.Upstream) {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	if g.ctx.Err() != nil {
		return
	}
	before := g.list()
	var after, started []*upstream
	for _, w := range wanted {
		i := slices.IndexFunc(before, func(u *upstream) bool { return u.Equal(&w) })
		if i >= 0 {
			after = append(after, before[i])
			continue
		}
		u := newUpstream(g, w)
		after, started = append(after, u), append(started, u)
	}
	ended := slices.DeleteFunc(slices.Clone(before), func(u *upstream) bool { return slices.Contains(after, u) })
	sources := make([]*catalog.Source, len(after))
	for i, u := range after {
		sources[i] = u.source
	}
	g.mu.Lock()
	g.upstreams = after
	g.mu.Unlock()
	g.catalog.Replace(sources)
	closeAll(ended) // before the new ones start, which may need the same port or file
	for _, u := range started {
		u.start()
	}
}
