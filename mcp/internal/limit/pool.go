package limit

import (
	"cmp"
	"container/heap"
	"errors"
	"slices"
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

// PoolBounds are the bounds of a Pool in units.
type PoolBounds struct {
	// Total limits what all owners together hold.
	Total int64
	// Each limits what one owner holds: an authenticated principal, or one anonymous
	// session or connection. 0 means no such limit.
	Each int64
	// Principal takes the place of Each for authenticated principals, unless it is 0.
	Principal int64
	// Address limits what one address holds, where addresses distinguish clients. 0 means no
	// such limit. When it is reached, the address loses idle places for a new one. So does one
	// of its sessions or connections that has reached Each, of its own places.
	Address int64
	// Group limits what one group holds: an authenticated principal, one address, or all clients whose
	// address does not distinguish them. 0 means no such limit. When it is reached, the group loses a
	// place of its own as it does in a full pool, or the newcomer is refused.
	Group int64
	// KeepBusy keeps busy places from being taken within the newcomer's own group. Idle ones are
	// taken rather than that a newcomer is refused, unless its group would hold more than theirs.
	KeepBusy bool
	// RenewIdle is for things of which all are idle most of the time, such as values that a
	// client may use again. The member that holds most loses the place that has been idle
	// longest, rather than its newest. Idle places of others go, of the group or member that
	// holds most, for a newcomer that needs more than each of them holds:
	//
	//   - for a group that would hold as much as they do, or at most 1/64 of Total;
	//   - within a group also for a member that holds nothing, or no more than they do, so far.
	RenewIdle bool
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

// group is the first level of some owners.
type group struct {
	rank
	owner   Owner
	members map[Member]*member
	bySize  ranking[*member]
	unused  idleList // places that were never used
	idle    idleList // the other idle ones
}

// member is one owner in its group. Its places form a ring in the order in which they were
// taken or, with PoolBounds.RenewIdle, became idle last: the oldest one is after the newest.
type member struct {
	rank
	id     Member
	group  *group
	newest *Place
	idle   int // number of its idle places
}

// append adds a place as the newest one.
func (m *member) append(p *Place) {
	p.before, p.after = p, p
	if m.newest != nil {
		p.before, p.after = m.newest, m.newest.after
		p.before.after, p.after.before = p, p
	}
	m.newest = p
}

// unlink removes a place, which still knows where it was.
func (m *member) unlink(p *Place) {
	p.wasNewest = m.newest == p
	switch {
	case p.after == p:
		m.newest = nil
		return
	case p.wasNewest:
		m.newest = p.before
	}
	p.before.after, p.after.before = p.after, p.before
}

// relink undoes unlink.
func (m *member) relink(p *Place) {
	p.before.after, p.after.before = p, p
	if p.wasNewest {
		m.newest = p
	}
}

// longestIdle returns the idle place that the member loses first, or nil.
func (m *member) longestIdle() *Place {
	for _, list := range []*idleList{&m.group.unused, &m.group.idle} {
		for p := list.first; p != nil; p = p.idleSince {
			if p.of == m {
				return p
			}
		}
	}
	return nil
}

// oldestIdle returns the first idle place, or nil.
func (m *member) oldestIdle() *Place {
	if m.idle == 0 {
		return nil
	}
	p := m.newest.after
	for p.idleIn == nil {
		p = p.after
	}
	return p
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

// grow is Take or, with a place, Resize. It calls evict functions on another goroutine.
func (p *Pool) grow(place *Place, o Owner, size int, evict func()) (*Place, error) {
	place, evicted, err := p.change(place, o, size, evict)
	if len(evicted) > 0 {
		go evictAll(evicted)
	}
	return place, err
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

// mayAdd makes room for more units of a member, and returns the places that it detached. Its caller
// finishes them after it has added the units, because the member can be one of those that lose their
// last place. If there is no room, mayAdd changes nothing.
func (p *Pool) mayAdd(m *member, size int64) (evicted []*Place, err error) {
	g, each := m.group, p.bounds.each(m.group.owner)
	for each > 0 && m.held > 0 && m.held+size > each {
		if evicted, err = p.detachNext(evicted, p.ownIdle(m), ErrOwnerFull); err != nil {
			return nil, err
		}
	}
	for p.hasAddress(g) && g.held > 0 && g.held+size > p.bounds.Address {
		if evicted, err = p.detachNext(evicted, g.longestIdle(), ErrOwnerFull); err != nil {
			return nil, err
		}
	}
	for p.bounds.Group > 0 && g.held > 0 && g.held+size > p.bounds.Group {
		if evicted, err = p.detachNext(evicted, p.ownVictim(m, size), ErrOwnerFull); err != nil {
			return nil, err
		}
	}
	for p.held > 0 && p.held+size > p.bounds.Total {
		if evicted, err = p.detachNext(evicted, p.victim(m, size), ErrPoolFull); err != nil {
			return nil, err
		}
	}
	return evicted, nil
}

// detachNext detaches one more place to evict. Without one, it restores those before and
// returns the error.
func (p *Pool) detachNext(evicted []*Place, victim *Place, err error) ([]*Place, error) {
	if victim != nil {
		p.detach(victim)
		return append(evicted, victim), nil
	}
	for _, e := range slices.Backward(evicted) {
		p.restore(e)
	}
	return nil, err
}

func (b PoolBounds) each(group Owner) int64 {
	if b.Principal > 0 && group.Principal().Authenticated() {
		return b.Principal
	}
	return b.Each
}

// victim returns the next place to evict for size units of a member, or nil.
func (p *Pool) victim(m *member, size int64) *Place {
	g := p.bySize.first()
	if g != m.group && m.group.held+size < g.held {
		return cmp.Or(p.renewable(g.bySize.first()), g.longestIdle(), g.bySize.first().newest)
	}
	if p.bounds.RenewIdle {
		if idle := p.idleVictim(m, size); idle != nil {
			return idle
		}
	}
	if p.bounds.KeepBusy {
		if idle := p.idleOfOthers(m.group, size); idle != nil {
			return idle
		}
	}
	return p.ownVictim(m, size)
}

// ownVictim returns the next place of its own group to evict for size units of a member, or nil.
func (p *Pool) ownVictim(m *member, size int64) *Place {
	if p.bounds.KeepBusy {
		return m.group.longestIdle()
	}
	top := m.group.bySize.first()
	isTop := top == nil || top == m || m.held+size > top.held
	if idle := m.group.longestIdle(); idle != nil && m.held+size <= idle.of.held {
		return idle
	}
	if !isTop {
		return top.newest
	}
	return nil
}

// renewable returns the place of a member that RenewIdle takes first, or nil.
func (p *Pool) renewable(m *member) *Place {
	if !p.bounds.RenewIdle {
		return nil
	}
	return m.oldestIdle()
}

// idleOfOthers returns an idle place of another group that holds at least as much as a group would
// hold with size more units, or nil: of the group that holds most, and of several that which has been
// idle longest. It searches only some of the groups that hold most.
func (p *Pool) idleOfOthers(newcomer *group, size int64) (victim *Place) {
	const searched = 1024
	for _, g := range p.bySize[:min(len(p.bySize), searched)] {
		if g == newcomer || newcomer.held+size > g.held {
			continue
		}
		if idle := g.longestIdle(); idle != nil && (victim == nil || idle.goesBefore(victim)) {
			victim = idle
		}
	}
	return victim
}

// goesBefore reports whether an idle place of one group is taken before that of another.
func (p *Place) goesBefore(other *Place) bool {
	g, h := p.of.group, other.of.group
	if g.held != h.held {
		return g.held > h.held
	}
	if unused := p.idleIn == &g.unused; unused != (other.idleIn == &h.unused) {
		return unused
	}
	return int32(p.idleAt-other.idleAt) < 0
}

// idleVictim returns the idle place that goes for size more units of a member, see
// PoolBounds.RenewIdle, or nil.
func (p *Pool) idleVictim(m *member, size int64) *Place {
	g, little := m.group, p.bounds.Total/64
	others := p.bySize.largest(func(other *group) bool { return other != g && other.longestIdle() != nil })
	if others != nil && g.held+size <= others.held {
		return others.longestIdle()
	}
	beside := g.bySize.largest(func(other *member) bool { return other != m && other.idle > 0 })
	if beside != nil && (m.held <= beside.held || m.held+size <= little) {
		return beside.oldestIdle()
	}
	if p.hasAddress(g) && m.idle > 0 {
		return m.oldestIdle()
	}
	if others != nil && g.held+size <= little {
		return others.longestIdle()
	}
	return nil
}

// hasAddress reports whether PoolBounds.Address bounds a group.
func (p *Pool) hasAddress(g *group) bool {
	return p.bounds.Address > 0 && g.owner.known().address.IsValid()
}

// ownIdle returns the idle place that a member which has reached PoolBounds.Each loses, or nil.
func (p *Pool) ownIdle(m *member) *Place {
	switch {
	case p.bounds.KeepBusy:
		return m.longestIdle()
	case p.hasAddress(m.group):
		return m.oldestIdle()
	}
	return nil
}

// longestIdle returns the idle place that the group loses first, or nil.
func (g *group) longestIdle() *Place { return cmp.Or(g.unused.first, g.idle.first) }

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
