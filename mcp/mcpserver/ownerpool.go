package mcpserver

import "github.com/fondaco/fondaco/mcp/internal/limit"

// Owner identifies the party to which limits charge what a request causes: the authenticated
// principal, or else the address of the client and its session or connection. On the loopback
// interface and over connections other than HTTP only the session or connection counts, because
// addresses do not tell clients apart there; for proxies see HTTPOptions.TrustedProxies. Owners
// are comparable with ==. The zero Owner is an unknown one.
type Owner struct{ owner limit.Owner }

// Owner returns the owner of the request. It is the zero Owner when r is nil.
func (r *Request) Owner() Owner { return Owner{r.owner()} }

// OwnerPool limits what the clients of a server hold together of one kind of thing that a
// program keeps for them, such as connections to another server. It counts by [Owner], as all
// limits of the server do. When it is full, the principal or address that holds most loses
// something, so that what one owner holds never makes the request of another fail. Make one with
// [NewOwnerPool]. Its methods are safe for concurrent use.
type OwnerPool struct{ pool *limit.Pool }

// OwnerPoolOptions are the limits of an OwnerPool, in units: 1 for each thing, or its bytes.
type OwnerPoolOptions struct {
	// Total is the limit of all owners together. It must be greater than 0.
	Total int
	// Each is the limit of one owner: an authenticated principal, or one anonymous session or
	// connection. Default: no such limit.
	Each int
	// Principal takes the place of Each for authenticated principals. Default: Each.
	Principal int
	// Group is the limit of one principal or address, with all its sessions and connections. Where
	// addresses do not tell clients apart, it is that of all of them together. When it is reached, they
	// lose one of these things, first what is idle, or the request is refused; others lose nothing.
	// Default: no such limit.
	Group int
	// KeepBusy keeps what is in use from being taken for the same principal or address. It is
	// for things that a client would miss, such as connections with state. What is idle is taken
	// before a request is refused: of an owner that has reached its limit, and of others that
	// hold as much as the owner would.
	KeepBusy bool
}

// NewOwnerPool returns an empty pool.
func NewOwnerPool(o OwnerPoolOptions) *OwnerPool {
	return &OwnerPool{limit.NewPool(limit.PoolBounds{Total: int64(o.Total), Each: int64(o.Each), Principal: int64(o.Principal), Group: int64(o.Group), KeepBusy: o.KeepBusy})}
}

// Take takes a place of that many units, at least 1, for an owner. It fails if the owner has
// reached its limit, or if the pool is full and no principal or address holds more than that of
// the owner would. Otherwise it makes room: it evicts places of the principal or address that
// holds most, first those that are idle, and calls their evict functions before it returns.
//
// evict must end the use of the thing and must not block. It is called at most once, and never
// after a call of [OwnerPlace.Release] that returned true.
func (p *OwnerPool) Take(o Owner, units int, evict func()) (*OwnerPlace, error) {
	place, err := p.pool.Take(o.owner, units, evict)
	if err != nil {
		return nil, err
	}
	return &OwnerPlace{place}, nil
}

// Held returns the units that all owners hold.
func (p *OwnerPool) Held() int { return p.pool.Held() }

// OwnerPlace is what one thing takes of an [OwnerPool]. Its methods are safe for concurrent use,
// and do nothing for a nil OwnerPlace.
type OwnerPlace struct{ place *limit.Place }

// Release frees the place. It reports false if the place was released before, or was evicted:
// then its evict function has been called or will be called at once.
func (p *OwnerPlace) Release() bool { return p == nil || p.place.Release() }

// Resize changes the units of the place. It fails as [OwnerPool.Take] does, and then changes
// nothing. It does nothing to a place that was released or evicted. It evicts other places as
// Take does.
func (p *OwnerPlace) Resize(units int) error {
	if p == nil {
		return nil
	}
	return p.place.Resize(units)
}

// SetIdle marks the thing as not in use. Idle things are evicted before others, those that were
// never used first, and then the one that has been idle longest.
func (p *OwnerPlace) SetIdle(used bool) {
	if p != nil {
		p.place.SetIdle(used)
	}
}

// SetBusy marks the thing as in use, which a new one is.
func (p *OwnerPlace) SetBusy() {
	if p != nil {
		p.place.SetBusy()
	}
}
