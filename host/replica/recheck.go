package replica

import (
	"context"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Rejoined makes Run take the callers of this host again after its id has changed.
func (p *Places) Rejoined() {
	select {
	case p.recheck <- struct{}{}:
	default:
	}
}

// Run takes callers again when Rejoined was called, and forgets those that send no more requests,
// until ctx is done. It returns when the processes of all callers that were removed have ended.
func (p *Places) Run(ctx context.Context) {
	tick := time.NewTicker(placeRenewal)
	defer tick.Stop()
	defer p.work.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.recheck:
			p.checkAll(ctx)
		case <-tick.C:
			p.dropOld(ctx)
		}
	}
}

// owned returns the places of this host that match, which is called with mu.
func (p *Places) owned(match func(*place) bool) (all []*place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.entries {
		if e.own != nil && match(e.own) {
			all = append(all, e.own)
		}
	}
	return all
}

// checkAll takes the callers of this host again whose record has another id of it. It loses those that
// another host has taken, and no others.
func (p *Places) checkAll(ctx context.Context) {
	self := p.group.ID()
	for _, own := range p.owned(func(own *place) bool { return own.host != self }) {
		if ctx.Err() != nil {
			return
		}
		found, _, err := p.enter(ctx, own.caller, mcpserver.Owner{})
		if err == nil && found != nil { // if it fails, the next request of the caller does it
			p.leave(found, false, false)
		}
	}
}

// dropOld drops the callers that have sent no request for longer than their record lasts.
func (p *Places) dropOld(ctx context.Context) {
	old := func(own *place) bool { return own.uses == 0 && time.Since(own.used) > placeTime }
	for _, own := range p.owned(old) {
		if ctx.Err() != nil {
			return
		}
		p.drop(own, func() bool { return old(own) })
	}
}
