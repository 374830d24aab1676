package limit

import (
	"container/heap"
	"errors"
	"sync"
)

// Reasons for which a Pool refuses a place.
var (
	// ErrOwnerFull reports that the owner has reached the limit of one owner.
	ErrOwnerFull = errors.New("the limit of the owner is reached")
	// ErrPoolFull reports that all owners together have reached the limit, and that no
	// other owner holds more than the one that takes.
	ErrPoolFull = errors.New("the limit of all owners is reached")
)

// Pool limits what all owners together hold of one kind of thing, in units: 1 for each
// thing, or its bytes. When it is full, it takes a place from the owner that holds most, so
// that one owner cannot prevent another from holding some. The newcomer is the owner that
// takes a place:
//
//   - The group that holds most (see Owner) loses a place, if it holds more than the
//     newcomer's group would hold with the new place. In the group it is the newest
//     place of the member that holds most.
//   - Otherwise the newcomer's own group loses a place: the newest of the member that
//     holds most, if that is at least as much as the newcomer would hold. Of several
//     such members it is the one that has held so much for longest: sessions cost a
//     client nothing, so a client that opens many holds the same amount in each.
//   - Otherwise the newcomer is refused.
//
// A group loses its idle places first (see SetIdle): those that were never used, then the
// others, in each case the one that has been idle longest. With PoolBounds.KeepBusy, which
// is for sessions and connections, the newcomer's own group loses only idle places, another
// group that holds as much as the newcomer's would loses an idle place, too, and an owner that
// has reached the limit of one owner loses the place that it has not used for longest.
//
// Use a Pool for every table whose entries belong to clients:
//
//	place, err := pool.Take(owner, 1, func() { table.close(entry) })
//	...
//	if !place.Release() { /* the place was evicted, and the entry is being closed */ }
//
// All methods are safe for concurrent use. A Pool calls the functions given to Take without
// holding its lock.
type Pool struct {
	bounds PoolBounds

	mu     sync.Mutex
	held   int64            // guarded by mu
	clock  uint64           // guarded by mu: counts changes
	groups map[Owner]*group // guarded by mu
	bySize ranking[*group]  // guarded by mu
}

// Place is the part of a Pool that one thing holds.
type Place struct {
	pool   *Pool
	of     *member
	size   int64
	evict  func()
	before *Place // its neighbours in the ring of the member; guarded by the pool's mu
	after  *Place

	wasNewest bool   // in that ring, before it was removed
	idleAt    uint32 // the low bits of the pool's clock when it became idle

	idleIn             *idleList // of its group, while it is idle
	idleFor, idleSince *Place    // its neighbours there: idle for longer, and less long
}

// NewPool returns an empty pool.
func NewPool(b PoolBounds) *Pool { return &Pool{bounds: b, groups: make(map[Owner]*group)} }

// Take takes a place of that many units for an owner. It fails with ErrOwnerFull or
// ErrPoolFull and then changes nothing. An empty pool has room for a thing of any size.
//
// When the pool is full, Take evicts other places as the comment on Pool says, and calls
// their evict functions before it returns. evict must end the use of the thing and must not
// block. It is called at most once, and never after a Release that returned true.
func (p *Pool) Take(o Owner, size int, evict func()) (*Place, error) {
	place, evicted, err := p.change(nil, o, size, evict)
	evictAll(evicted)
	return place, err
}

// Release frees the place. It reports false if the place was released before, or was
// evicted: then its evict function has been called or will be called at once. Release of
// nil reports true.
func (p *Place) Release() bool {
	if p == nil {
		return true
	}
	p.pool.mu.Lock()
	defer p.pool.mu.Unlock()
	if p.of == nil {
		return false
	}
	p.pool.remove(p)
	return true
}

// Resize changes the units of the place. It fails with ErrOwnerFull or ErrPoolFull if there is no
// room, and then changes nothing. It does nothing to a place that was released or evicted, or to
// nil. It evicts other places as Take does.
func (p *Place) Resize(size int) error {
	if p == nil {
		return nil
	}
	_, evicted, err := p.pool.change(p, Owner{}, size, nil)
	evictAll(evicted)
	return err
}

// change takes a place or, with one, changes its size. The caller evicts the places that it
// returns.
func (p *Pool) change(place *Place, o Owner, size int, evict func()) (_ *Place, evicted []*Place, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if place == nil {
		return p.take(o, max(int64(size), 1), evict)
	}
	evicted, err = p.resize(place, max(int64(size), 1))
	return place, evicted, err
}

func evictAll(evicted []*Place) {
	for _, e := range evicted {
		e.evict()
	}
}

// SetBusy marks the place as in use. A new place is in use.
func (p *Place) SetBusy() {
	if p == nil {
		return
	}
	p.pool.mu.Lock()
	defer p.pool.mu.Unlock()
	p.leaveIdle()
}

// SetIdle marks the place as not in use. used says whether it ever was.
func (p *Place) SetIdle(used bool) {
	if p == nil {
		return
	}
	p.pool.mu.Lock()
	defer p.pool.mu.Unlock()
	if p.of == nil {
		return
	}
	p.leaveIdle()
	p.pool.clock++
	p.idleAt = uint32(p.pool.clock)
	to := &p.of.group.unused
	if used {
		to = &p.of.group.idle
	}
	to.pushBack(p)
	if m := p.of; p.pool.bounds.RenewIdle && m.newest != p {
		m.unlink(p)
		m.append(p)
	}
}

// EvictIdle evicts one idle place, and reports whether there was one. Of the groups with
// idle places, the one that holds most loses it, and of several the one that has held so much
// for longest.
func (p *Pool) EvictIdle() bool {
	victim := p.removeIdle()
	if victim != nil {
		victim.evict()
	}
	return victim != nil
}

// removeIdle removes the place that EvictIdle evicts, or returns nil.
func (p *Pool) removeIdle() (victim *Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range p.groups {
		if idle := g.longestIdle(); idle != nil && (victim == nil || g.before(&victim.of.group.rank)) {
			victim = idle
		}
	}
	if victim != nil {
		p.remove(victim)
	}
	return victim
}

// Full reports whether all owners together have reached the limit.
func (p *Pool) Full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held >= p.bounds.Total
}

// Held returns the units that all owners hold.
func (p *Pool) Held() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(p.held)
}

// The methods below need mu.

func (p *Pool) take(o Owner, size int64, evict func()) (*Place, []*Place, error) {
	m := p.memberOf(o)
	defer p.forgetEmpty(m)
	evicted, err := p.mayAdd(m, size)
	if err != nil {
		return nil, nil, err
	}
	place := &Place{pool: p, of: m, size: size, evict: evict}
	m.append(place)
	p.add(m, size)
	p.finish(evicted)
	return place, evicted, nil
}

func (p *Pool) resize(place *Place, size int64) (evicted []*Place, err error) {
	m := place.of
	if m == nil {
		return nil, nil
	}
	if more := size - place.size; more > 0 {
		idle := place.idleIn
		place.leaveIdle() // so that it is not evicted for itself
		if evicted, err = p.mayAdd(m, more); idle != nil {
			if place.idleIn = idle; err != nil {
				idle.link(place)
			} else {
				idle.pushBack(place)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	p.add(m, size-place.size)
	place.size = size
	p.finish(evicted)
	return evicted, nil
}

func (p *Place) leaveIdle() {
	if p.of != nil && p.idleIn != nil {
		p.idleIn.remove(p)
		p.idleIn = nil
	}
}

// memberOf returns the member for an owner, which may be new.
func (p *Pool) memberOf(o Owner) *member {
	g := p.groups[o.Group()]
	if g == nil {
		g = &group{owner: o.Group(), members: make(map[Member]*member)}
		p.groups[g.owner] = g
		heap.Push(&p.bySize, g)
	}
	m := g.members[o.member]
	if m == nil {
		m = &member{id: o.member, group: g}
		g.members[o.member] = m
		heap.Push(&g.bySize, m)
	}
	return m
}

// forgetEmpty removes a member that holds nothing, and its group if that holds nothing.
func (p *Pool) forgetEmpty(m *member) {
	g := m.group
	if m.newest == nil && g.members[m.id] == m {
		delete(g.members, m.id)
		heap.Remove(&g.bySize, m.index)
	}
	if len(g.members) == 0 && p.groups[g.owner] == g {
		delete(p.groups, g.owner)
		heap.Remove(&p.bySize, g.index)
	}
}

// remove removes a place.
func (p *Pool) remove(place *Place) {
	p.detach(place)
	p.finish([]*Place{place})
}

// finish ends places that are detached.
func (p *Pool) finish(detached []*Place) {
	for _, place := range detached {
		m := place.of
		place.of, place.idleIn = nil, nil
		p.forgetEmpty(m)
	}
}

// detach removes a place from the lists of its member and its group. Its idleIn still says
// whether it was idle.
func (p *Pool) detach(place *Place) {
	m := place.of
	if place.idleIn != nil {
		place.idleIn.remove(place)
	}
	m.unlink(place)
	p.add(m, -place.size)
}

// restore undoes detach, in the opposite order.
func (p *Pool) restore(place *Place) {
	m := place.of
	if place.idleIn != nil {
		place.idleIn.link(place)
	}
	m.relink(place)
	p.add(m, place.size)
}

// add changes what a member holds.
func (p *Pool) add(m *member, size int64) {
	p.clock++
	p.held += size
	m.held, m.since = m.held+size, p.clock
	heap.Fix(&m.group.bySize, m.index)
	g := m.group
	g.held, g.since = g.held+size, p.clock
	heap.Fix(&p.bySize, g.index)
}
