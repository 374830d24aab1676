package streamhttp

import (
	"net/http"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

// quota counts things that are held, of all clients together and of each
// authenticated principal. Those whom nobody authenticated cannot be told apart
// and share the whole. It is safe for concurrent use.
type quota struct {
	total, each int
	full, spent *refusal // when there is no more at all, and no more for its sender

	mu   sync.Mutex
	held int
	by   map[mcp.Principal]int // authenticated ones
}

// newQuota returns a quota that is known by the names of its two limits.
func newQuota(total, each int, whole, share mcp.Limit) *quota {
	full := refuse(http.StatusServiceUnavailable, "the server is full: try again later")
	spent := refuse(http.StatusTooManyRequests, "too many at once: end some or try again later")
	full.limit, spent.limit = whole, share
	return &quota{total: total, each: each, full: full, spent: spent}
}

// take counts one more for a sender, which needs one release. Otherwise it returns full
// or spent.
func (q *quota) take(by *mcp.Identity) *refusal {
	p := exchange.PrincipalOf(by)
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.by[p] >= q.each:
		return q.spent
	case q.held >= q.total:
		return q.full
	}
	q.held++
	if p.Authenticated() {
		if q.by == nil {
			q.by = make(map[mcp.Principal]int)
		}
		q.by[p]++
	}
	return nil
}

// release takes one back from a sender of the same principal.
func (q *quota) release(by *mcp.Identity) {
	p := exchange.PrincipalOf(by)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held--
	if n := q.by[p]; n > 1 {
		q.by[p] = n - 1
	} else {
		delete(q.by, p)
	}
}
