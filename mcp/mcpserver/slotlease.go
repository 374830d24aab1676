package mcpserver

import (
	"context"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// slotLease is the lease of a slot that a call of a tool has acquired. It lasts no
// longer than ctx.
func slotLease(ctx context.Context, s *limit.Slots) *exchange.Lease {
	return exchange.NewLease(s.Release, func() error { return s.Return(ctx) })
}

// endedLease is the lease of a request that has released its slot.
var endedLease = exchange.EndedLease()

// placeLease returns the lease of the request's slot among the running calls, or nil for a
// request that has none.
func (r *Request) placeLease() *exchange.Lease {
	if r.outbound || unmetered[r.method] || r.call.ID.IsZero() {
		return nil
	}
	if l := r.lease.Load(); l != nil {
		return l
	}
	l := exchange.NewLease(r.givePlace, r.retakePlace)
	if !r.lease.CompareAndSwap(nil, l) {
		l = r.lease.Load()
	}
	return l
}

func (r *Request) givePlace() {
	r.server.admission.running.SetWaiting(&r.running, true)
	r.freePlace()
}

func (r *Request) freePlace() { r.server.admission.gate.Leave(r.share, len(r.in.Message.Params)) }

func (r *Request) retakePlace() error {
	err := r.server.admission.gate.Return((*handlerContext)(r), r.share, len(r.in.Message.Params))
	if err == nil {
		r.server.admission.running.SetWaiting(&r.running, false)
	}
	return err
}

// leavePlace releases the request's slot at the end of the request.
func (r *Request) leavePlace() {
	switch {
	case unmetered[r.method]:
	case r.lease.CompareAndSwap(nil, endedLease):
		r.freePlace()
	default:
		r.lease.Load().End()
	}
}
