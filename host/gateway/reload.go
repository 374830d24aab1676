package gateway

import (
	"slices"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/catalog"
)

// Reload replaces the upstreams, whose keys must differ. An upstream that equals one of
// before is kept and not interrupted; one with other roots is notified of them. Reload closes the
// others and waits for them, then starts the new ones without waiting.
func (g *Gateway) Reload(wanted []host.Upstream) {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	if g.ctx.Err() != nil {
		return
	}
	before := g.list()
	var after, started []*upstream
	for _, w := range wanted {
		i := slices.IndexFunc(before, func(u *upstream) bool { return u.continuesAs(&w) })
		if i >= 0 {
			if before[i].relay.SetRoots(w.Settings.Roots) {
				before[i].warm.drop() // nobody would notify them
			}
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

// continuesAs reports whether an upstream can go on with another configuration: it is the same, but for roots
// that the user has changed. An upstream without roots has not declared them. Those of a project need a new
// approval.
func (u *upstream) continuesAs(wanted *host.Upstream) bool {
	same := *wanted
	if u.relay.HasRoots() && len(wanted.Settings.Roots) > 0 && wanted.Origin.Project == "" {
		same.Settings.Roots = u.Settings.Roots
	}
	return u.Equal(&same)
}
