package streamhttp

import (
	"net/http"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// keptFull refuses what would make the server keep too many bytes for a client.
var keptFull = func() *refusal {
	r := refuse(http.StatusServiceUnavailable, "the server keeps too many bytes for clients, many of them for you: end sessions or streams, send less, or try again later")
	r.limit = mcp.LimitKept
	return r
}()

// keep takes a place for that many bytes, unless they are few. If there is none, it returns the
// refusal. If another owner needs the place later, end is called with the cause, without a lock.
func (o *Options) keep(owner limit.Owner, size int, end func(cause error)) (*limit.Place, *refusal) {
	if size <= limit.SmallEntry {
		return nil, nil
	}
	place, err := o.kept().TakeLarge(owner, size, func() {
		o.reached(mcp.LimitKept, owner.Principal())
		end(errEvicted)
	})
	if err != nil {
		return nil, keptFull
	}
	return place, nil
}
