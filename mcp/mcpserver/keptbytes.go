package mcpserver

import (
	"cmp"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// maxKept returns LoadOptions.MaxKept. By default it is a quarter of what a MemoryStore holds,
// which has room for it twice, for anonymous clients and for others, and as much for tasks.
func (o *Options) maxKept() int64 {
	m, ok := o.orZero().Store.(*MemoryStore)
	if !ok {
		m = new(MemoryStore)
	}
	return cmp.Or(o.orZero().Load.orZero().MaxKept, int64(m.maxBytes()/4))
}

// keep takes a place for bytes that the request makes the server keep, unless they are few. If
// another owner needs the place later, evict is called with the error for the client, without a
// lock; it must not block.
func (r *Request) keep(size int, evict func(error)) (*limit.Place, error) {
	place, err := r.server.kept.TakeLarge(r.owner(), size, func() {
		r.ReportLimit(mcp.LimitKept)
		evict(mcp.PeerRetryLaterf(mcp.CodeOverloaded, retryWhole, "%s: ended to make room for another client, because the server keeps many bytes for you", r.method))
	})
	if err != nil {
		r.ReportLimit(mcp.LimitKept)
		return nil, mcp.PeerRetryLaterf(mcp.CodeOverloaded, retryWhole, "%s: the server keeps too many bytes for clients: %v; want other requests to end first, or smaller ones", r.method, err)
	}
	return place, nil
}

// keepClient takes the place of what the session of a connection keeps of its client. Sessions of
// Streamable HTTP take theirs in their table.
func (s *Server) keepClient(r *Request, agreed *dialect.Session) error {
	if r.in.Binding == dialect.Streamable {
		return nil
	}
	place, err := r.keep(agreed.Size(), func(error) { r.in.Session.End() })
	if err == nil {
		s.sessions.keep(r.in.Session, place)
	}
	return err
}
