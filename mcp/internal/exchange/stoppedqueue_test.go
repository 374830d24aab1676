package exchange_test

import (
	"net/netip"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// Stop may come between the two steps of Put.
func TestQueueThatStopsDuringAPutKeepsNoPlace(t *testing.T) {
	t.Parallel()
	kept := limit.NewKeptBytes(1 << 40)
	owner := limit.OwnerOf(mcp.PrincipalAnonymous, netip.Addr{}, limit.NewMember())
	for range 20_000 {
		var calls sync.WaitGroup
		d := exchange.NewOwnedDispatcher(func(struct{}) {}, calls.Go)
		d.CountTo(kept, owner, func() {})
		calls.Go(func() { d.Put(struct{}{}, 1<<20) })
		calls.Go(d.Stop)
		calls.Go(func() { d.Dropped() })
		calls.Wait()
	}
	if n := kept.Held(); n != 0 {
		t.Errorf("%d bytes are counted for queues that have ended", n)
	}
}
