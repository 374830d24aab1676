package limit

import (
	"context"

	"github.com/fondaco/fondaco/mcp"
)

// KeptBytes limits the bytes that clients make a server keep beyond the request that has
// brought them: what a session knows of its client, params of calls that wait, queued
// notifications, states, handles. It is one Pool for all anonymous owners and one of the same
// size for authenticated principals and local users, so that nobody without credentials takes
// the room of those. A nil KeptBytes is unbounded. It is safe for concurrent use.
//
// One anonymous session, connection or address has at most a quarter, one principal or local
// connection at most half. An owner that has as much is refused, except that an address, and a
// session or connection that has one, loses its longest idle entries. When a pool is full, the
// owner that holds most loses entries, see Pool.
type KeptBytes struct{ anonymous, known *Pool }

// NewKeptBytes returns a KeptBytes of that many bytes in each of its two pools.
func NewKeptBytes(total int64) *KeptBytes {
	quarter := max(total/4, 1)
	return &KeptBytes{
		anonymous: NewPool(PoolBounds{Total: total, Each: quarter, Address: quarter, RenewIdle: true}),
		known:     NewPool(PoolBounds{Total: total, Each: max(total/2, 1), RenewIdle: true}),
	}
}

// SmallEntry is the size up to which TakeLarge counts nothing, in bytes. The number of such
// entries is limited by the tables that they are in.
const SmallEntry = 2 << 10

// Take takes the place of an entry, as Pool.Take does.
func (k *KeptBytes) Take(o Owner, size int, evict func()) (*Place, error) {
	if k == nil {
		return nil, nil
	}
	return k.pool(o).Take(o, size, evict)
}

// TakeLarge is Take for entries of tables that limit their number. The place of a small entry
// is nil.
func (k *KeptBytes) TakeLarge(o Owner, size int, evict func()) (*Place, error) {
	if size <= SmallEntry {
		return nil, nil
	}
	return k.Take(o, size, evict)
}

// Grow makes a place as large as size, or takes one if place is nil, for a caller that holds locks which the
// evict functions of other places need. The caller calls evictOthers, unless it is nil, once it holds none.
func (k *KeptBytes) Grow(place *Place, o Owner, size int, evict func()) (grown *Place, evictOthers func(), err error) {
	if k == nil {
		return nil, nil, nil
	}
	grown, evicted, err := k.pool(o).change(place, o, size, evict)
	if len(evicted) > 0 {
		evictOthers = func() { evictAll(evicted) }
	}
	return grown, evictOthers, err
}

func (k *KeptBytes) pool(o Owner) *Pool {
	if p := o.Principal(); p.Authenticated() || p == mcp.PrincipalLocal {
		return k.known
	}
	return k.anonymous
}

// Held returns the bytes that all owners hold.
func (k *KeptBytes) Held() int { return k.anonymous.Held() + k.known.Held() }

// keptKey is the key of the KeptBytes in contexts.
type keptKey struct{}

// KeptKey is the key under which the context of a request has the KeptBytes of its server.
var KeptKey any = keptKey{}

// KeptFrom returns the KeptBytes of the server of the request that ctx belongs to. Without a
// request it is nil.
func KeptFrom(ctx context.Context) *KeptBytes {
	k, _ := ctx.Value(KeptKey).(*KeptBytes)
	return k
}
