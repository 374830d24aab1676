package streamhttp

import (
	"net/http"
	"sync"

	"github.com/fondaco/fondaco/mcp"
)

// quota counts things that are held, of all clients together and of each
// authenticated principal. Those whom nobody authenticated cannot be told apart
// and share the whole. It is safe for concurrent use.
type quota struct {
	total, each int

	mu   sync.Mutex
	held int
	by   map[mcp.Principal]int // authenticated ones
}

// The refusals of a quota.
var (
	allHeld   = refuse(http.StatusServiceUnavailable, "the server is full: try again later")
	shareHeld = refuse(http.StatusTooManyRequests, "too many at once: end some or try again later")
)

// take counts one more for p, which needs one release. Otherwise it returns
// allHeld or shareHeld.
func (q *quota) take(p mcp.Principal) *refusal {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.by[p] >= q.each:
		return shareHeld
	case q.held >= q.total:
		return allHeld
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

func (q *quota) release(p mcp.Principal) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held--
	if n := q.by[p]; n > 1 {
		q.by[p] = n - 1
	} else {
		delete(q.by, p)
	}
}
