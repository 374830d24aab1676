package limit_test

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// Places of several units are taken, resized, used and released at random. A pool holds what those
// hold that were not evicted.
func TestPoolHoldsWhatItsPlacesHold(t *testing.T) {
	t.Parallel()
	owners := []limit.Owner{principal("alice"), principal("bob"), {}}
	for _, address := range []string{"192.0.2.1", "192.0.2.2", "127.0.0.1"} {
		for range 3 {
			owners = append(owners, limit.OwnerOf(mcp.PrincipalAnonymous, netip.MustParseAddr(address), limit.NewMember()))
		}
	}
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := limit.PoolBounds{Total: 40, KeepBusy: r.IntN(2) == 0, RenewIdle: r.IntN(2) == 0}
		b.Each, b.Principal, b.Address = int64(r.IntN(3)*10), int64(r.IntN(3)*10), int64(r.IntN(3)*10)
		b.Group = int64(r.IntN(3) * 10)
		pool := limit.NewPool(b)
		type entry struct {
			place *limit.Place
			owner limit.Owner
			size  int
		}
		var entries []*entry
		gone := make(map[*entry]bool)
		for range 400 {
			var e *entry
			if len(entries) > 0 {
				e = entries[r.IntN(len(entries))]
			}
			switch n := r.IntN(6); {
			case e == nil || n < 2:
				e = &entry{owner: owners[r.IntN(len(owners))], size: 1 + r.IntN(9)}
				if place, err := pool.Take(e.owner, e.size, func() { gone[e] = true }); err == nil {
					e.place = place
					entries = append(entries, e)
				}
			case n == 2:
				e.place.SetIdle(r.IntN(2) == 0)
			case n == 3:
				e.place.SetBusy()
			case n == 4:
				if size := 1 + r.IntN(12); e.place.Resize(size) == nil {
					e.size = size
				}
			case e.place.Release() == gone[e]:
				t.Fatalf("seed %d: Release of a place that was evicted: %v", seed, gone[e])
			default:
				gone[e] = true
			}
			held := 0
			for _, e := range entries {
				if !gone[e] {
					held += e.size
				}
			}
			if held != pool.Held() {
				t.Fatalf("seed %d: the pool holds %d units, its places %d", seed, pool.Held(), held)
			}
		}
		for _, e := range entries {
			e.place.Release()
		}
		if held := pool.Held(); held != 0 {
			t.Fatalf("seed %d: %d units are held by nobody", seed, held)
		}
	}
}
