package mcpserver

import (
	"context"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// toolSlotLease returns the lease of a slot of a tool that a call has acquired. It lasts no
// longer than ctx.
func toolSlotLease(ctx context.Context, slots *limit.Gate[limit.Owner]) *exchange.Lease {
	return exchange.NewLease(func() { slots.Leave(nil, 0) }, func() error { return slots.Return(ctx, nil, 0) })
}

// endedLease is the lease of a request that has released its slot.
var endedLease = exchange.EndedLease()

// slotLease returns the lease of the request's slot among the running calls, or nil for a
// request that has none.
func (r *Request) slotLease() *exchange.Lease {
	if !r.running.Admitted {
		return nil
	}
	if l := r.lease.Load(); l != nil {
		return l
	}
	l := exchange.NewLease(r.pauseSlot, r.resumeSlot)
	if !r.lease.CompareAndSwap(nil, l) {
		l = r.lease.Load()
	}
	return l
}

// pauseSlot releases the slot while the request waits for its client.
func (r *Request) pauseSlot() {
	r.server.admission.running.SetWaiting(&r.running, true)
	r.releaseSlot()
}

// resumeSlot waits for a slot after pauseSlot. It fails when the request has ended.
func (r *Request) resumeSlot() error {
	err := r.server.admission.gate.Return((*handlerContext)(r), r.share, len(r.in.Message.Params))
	if err == nil {
		r.server.admission.running.SetWaiting(&r.running, false)
	}
	return err
}

func (r *Request) releaseSlot() { r.server.admission.gate.Leave(r.share, len(r.in.Message.Params)) }

// endSlot releases the request's slot at the end of the request, unless it is paused.
func (r *Request) endSlot() {
	switch {
	case !r.running.Admitted:
	case r.lease.CompareAndSwap(nil, endedLease):
		r.releaseSlot()
	default:
		r.lease.Load().End()
	}
}
