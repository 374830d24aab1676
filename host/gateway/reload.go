package gateway

import (
	"reflect"
	"slices"

	"github.com/fondaco/fondaco/host"
)

// Reload makes the upstreams those given, whose keys have to differ. One that is
// the same as before is not touched: what runs there goes on. The others end, and
// new ones start; Reload does not wait for these.
func (g *Gateway) Reload(wanted []host.Upstream) {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	if g.ctx.Err() != nil {
		return
	}
	before := g.all()
	var after, begun []*upstream
	for _, w := range wanted {
		i := slices.IndexFunc(before, func(u *upstream) bool { return reflect.DeepEqual(u.Upstream, w) })
		if i >= 0 {
			after = append(after, before[i])
			continue
		}
		u := newUpstream(g, w)
		after, begun = append(after, u), append(begun, u)
	}
	ended := slices.DeleteFunc(slices.Clone(before), func(u *upstream) bool { return slices.Contains(after, u) })
	g.mu.Lock()
	g.upstreams = after
	g.mu.Unlock()
	g.merge()
	closeAll(ended) // before the new ones start, which may need what the old ones hold
	for _, u := range begun {
		u.start()
	}
}
