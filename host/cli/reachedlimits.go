package cli

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// reachedLimits counts the limits that were reached, by limit and upstream. The zero value has none.
type reachedLimits struct {
	mu     sync.Mutex
	counts map[limitKey]*reachedLimit // guarded by mu
}

// limitKey has names of the library and of the configuration, so their number is bounded.
type limitKey struct {
	limit    mcp.Limit
	upstream string
}

// reachedLimit is a limit in a report.
type reachedLimit struct {
	Limit    mcp.Limit `json:"limit"`
	Upstream string    `json:"upstream,omitzero"` // empty for one of the host
	Times    int       `json:"times"`
	Last     time.Time `json:"last"`
}

func (r *reachedLimits) note(upstream string, l mcp.LimitReached) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := limitKey{l.Limit, upstream}
	if r.counts[key] == nil {
		if r.counts == nil {
			r.counts = make(map[limitKey]*reachedLimit)
		}
		r.counts[key] = &reachedLimit{Limit: l.Limit, Upstream: upstream}
	}
	r.counts[key].Times++
	r.counts[key].Last = time.Now()
}

// all returns the limits, the one reached last first.
func (r *reachedLimits) all() []reachedLimit {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]reachedLimit, 0, len(r.counts))
	for _, l := range r.counts {
		all = append(all, *l)
	}
	slices.SortFunc(all, func(a, b reachedLimit) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Limit, b.Limit), cmp.Compare(a.Upstream, b.Upstream))
	})
	return all
}
