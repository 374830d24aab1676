package limit

import (
	"cmp"
	"container/heap"
	"errors"
	"slices"
	"sync"
)

// Reasons for which a Pool gives no place.
var (
	// ErrOwnerFull reports that the owner holds as much as one owner may.
	ErrOwnerFull = errors.New("the owner holds as much as it may")
	// ErrPoolFull reports that all owners together hold as much as they may, and that
	// no other holds more than the one that asks.
	ErrPoolFull = errors.New("all that there may be is held")
)

// Pool bounds what all owners hold together of one thing, in units: 1 each where
// things are counted, or bytes. When it is full, it takes from whoever holds most, so
// that what one owner holds does not keep another from having some:
//
//   - A place is taken from the group that holds most (see Owner), if it held more
//     even after the newcomer's group had been served; and in it from the member that
//     holds most, which loses what it took last.
//   - Otherwise it is taken within the newcomer's own group: from the member that
//     holds most, if that is at least as much as the newcomer would then hold. Of
//     several it is the one that has held so much for longest: sessions cost a client
//     nothing, so one that opened many of them holds as much in each.
//   - Otherwise the newcomer is refused.
//
// Places that are idle (see SetIdle) are the first that a group loses. Where the things
// are sessions or connections themselves (PoolBounds.KeepBusy), those are the ones that
// are idle: those that were never used, then the others,
// each time the one that is idle for longest. Within the newcomer's own group it loses
// no others.
//
// Use it for every table whose entries belong to somebody:
//
//	place, err := pool.Take(owner, 1, func() { table.close(entry) })
//	...
//	if !place.Release() { /* the place was taken away, and closing the entry is on its way */ }
//
// All methods are safe for concurrent use. The functions given to Take run without a
// lock of the Pool.
type Pool struct {
	bounds PoolBounds

	mu     sync.Mutex
	held   int64            // guarded by mu
	clock  uint64           // guarded by mu: counts changes
	groups map[Owner]*group // guarded by mu
	most   ranking[*group]  // guarded by mu
}

// PoolBounds are the bounds of a Pool in units.
type PoolBounds struct {
	// Total bounds what all owners hold.
	Total int64
	// Each bounds what one owner holds: an authenticated principal, or one session or
	// connection of anybody else. 0 is no bound of its own.
	Each int64
	// Principal is Each for authenticated principals, where it is another. 0: Each.
	Principal int64
	// KeepBusy keeps busy places from being taken within the newcomer's own group.
	KeepBusy bool
}

// Place is what a Pool has given for one thing.
type Place struct {
	pool   *Pool
	of     *member
	size   int64
	evict  func()
	before *Place // taken earlier by the same member; guarded by the pool's mu
	after  *Place // taken later

	idleIn             *idleList // of its group, while it is idle
	idleFor, idleSince *Place    // its neighbours there: idle for longer, and less long
}

// group is the first level of some owners.
type group struct {
	rank
	owner   Owner
	members map[Member]*member
	most    ranking[*member]
	unused  idleList // places that were never used
	idle    idleList // the other idle ones
}

// idleList are idle places, the longest idle first.
type idleList struct{ first, last *Place }

func (l *idleList) pushBack(p *Place) {
	p.idleIn, p.idleFor, p.idleSince = l, l.last, nil
	if l.last != nil {
		l.last.idleSince = p
	} else {
		l.first = p
	}
	l.last = p
}

func (l *idleList) pushFront(p *Place) {
	p.idleIn, p.idleFor, p.idleSince = l, nil, l.first
	if l.first != nil {
		l.first.idleFor = p
	} else {
		l.last = p
	}
	l.first = p
}

func (l *idleList) remove(p *Place) {
	if p.idleFor != nil {
		p.idleFor.idleSince = p.idleSince
	} else {
		l.first = p.idleSince
	}
	if p.idleSince != nil {
		p.idleSince.idleFor = p.idleFor
	} else {
		l.last = p.idleFor
	}
}

// member is one owner in its group. Its places are in the order in which they were
// taken.
type member struct {
	rank
	id     Member
	group  *group
	newest *Place
}

// NewPool returns an empty pool.
func NewPool(b PoolBounds) *Pool { return &Pool{bounds: b, groups: make(map[Owner]*group)} }

// Take takes a place of that many units for an owner. It fails with ErrOwnerFull or
// ErrPoolFull and then changes nothing. In an empty pool there is room for a thing of
// any size.
//
// When the pool is full, Take takes places of others away, as the comment on Pool
// says, and calls their evict functions before it returns. evict has to end the use of
// what the place stands for and may not block. It is called at most once, and never
// after a Release that returned true.
func (p *Pool) Take(o Owner, size int, evict func()) (*Place, error) {
	p.mu.Lock()
	place, evicted, err := p.take(o, max(int64(size), 1), evict)
	p.mu.Unlock()
	for _, e := range evicted {
		e.evict()
	}
	return place, err
}

// Release gives the place back. It reports false when the place is not held any more:
// it was released before, or taken away for another owner, and then its evict function
// has been called or is about to be. Release of nil reports true.
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

// Resize changes how many units the place stands for. It fails with ErrOwnerFull or
// ErrPoolFull when there is no room for more, and then changes nothing; a place that is
// not held any more it leaves alone. It takes places of others away as Take does.
func (p *Place) Resize(size int) error {
	p.pool.mu.Lock()
	evicted, err := p.pool.resize(p, max(int64(size), 1))
	p.pool.mu.Unlock()
	for _, e := range evicted {
		e.evict()
	}
	return err
}

// SetBusy notes that what the place stands for is in use: places are busy until
// SetIdle.
func (p *Place) SetBusy() {
	if p == nil {
		return
	}
	p.pool.mu.Lock()
	defer p.pool.mu.Unlock()
	p.leaveIdle()
}

// SetIdle notes that what the place stands for is not in use from now on. used tells
// whether it ever was.
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
	to := &p.of.group.unused
	if used {
		to = &p.of.group.idle
	}
	to.pushBack(p)
}

// EvictIdle takes away one place that is idle, and reports whether there was one: of the
// group that holds most among those with idle places, the place that this group would
// lose first.
func (p *Pool) EvictIdle() bool {
	p.mu.Lock()
	var victim *Place
	for _, g := range p.groups {
		if idle := g.longestIdle(); idle != nil && (victim == nil || g.held > victim.of.group.held) {
			victim = idle
		}
	}
	if victim != nil {
		p.remove(victim)
	}
	p.mu.Unlock()
	if victim != nil {
		victim.evict()
	}
	return victim != nil
}

// Full reports whether all owners together hold as much as they may.
func (p *Pool) Full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held >= p.bounds.Total
}

// Held returns how many units all owners hold.
func (p *Pool) Held() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(p.held)
}

// HeldBy returns how many units one owner holds.
func (p *Pool) HeldBy(o Owner) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if g := p.groups[o.Group()]; g != nil && g.members[o.member] != nil {
		return int(g.members[o.member].held)
	}
	return 0
}

// The methods below need mu.

func (p *Pool) take(o Owner, size int64, evict func()) (*Place, []*Place, error) {
	m := p.memberOf(o)
	defer p.forgetEmpty(m)
	evicted, err := p.mayAdd(m, size)
	if err != nil {
		return nil, nil, err
	}
	place := &Place{pool: p, of: m, size: size, evict: evict, before: m.newest}
	if m.newest != nil {
		m.newest.after = place
	}
	m.newest = place
	p.add(m, size)
	return place, evicted, nil
}

func (p *Pool) resize(place *Place, size int64) (evicted []*Place, err error) {
	m := place.of
	if m == nil {
		return nil, nil
	}
	if more := size - place.size; more > 0 {
		if evicted, err = p.mayAdd(m, more); err != nil {
			return nil, err
		}
	}
	p.add(m, size-place.size)
	place.size = size
	return evicted, nil
}

// mayAdd makes room for so many more units of a member.
func (p *Pool) mayAdd(m *member, size int64) ([]*Place, error) {
	if each := p.bounds.each(m.group.owner); each > 0 && m.held > 0 && m.held+size > each {
		return nil, ErrOwnerFull
	}
	evicted, ok := p.makeRoom(m, size)
	if !ok {
		return nil, ErrPoolFull
	}
	return evicted, nil
}

func (b PoolBounds) each(group Owner) int64 {
	if b.Principal > 0 && group.Principal().Authenticated() {
		return b.Principal
	}
	return b.Each
}

// makeRoom takes places away until there are size units for a member. When that
// cannot be, all stays as it is.
func (p *Pool) makeRoom(m *member, size int64) (evicted []*Place, ok bool) {
	for p.held > 0 && p.held+size > p.bounds.Total {
		victim := p.victim(m, size)
		if victim == nil {
			for _, e := range slices.Backward(evicted) {
				p.restore(e)
			}
			return nil, false
		}
		p.detach(victim)
		evicted = append(evicted, victim)
	}
	for _, e := range evicted {
		p.finish(e)
	}
	return evicted, true
}

// victim returns the place to take for size units of a member, or nil.
func (p *Pool) victim(m *member, size int64) *Place {
	g := p.most.first()
	if g != m.group && m.group.held+size < g.held {
		return cmp.Or(g.longestIdle(), g.most.first().newest)
	}
	if p.bounds.KeepBusy {
		return m.group.longestIdle()
	}
	if idle := m.group.longestIdle(); idle != nil && m.held+size <= idle.of.held {
		return idle
	}
	if top := m.group.most.first(); top != nil && top != m && m.held+size <= top.held {
		return top.newest
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
		heap.Push(&p.most, g)
	}
	m := g.members[o.member]
	if m == nil {
		m = &member{id: o.member, group: g}
		g.members[o.member] = m
		heap.Push(&g.most, m)
	}
	return m
}

// forgetEmpty drops a member that holds nothing, and its group with it.
func (p *Pool) forgetEmpty(m *member) {
	g := m.group
	if m.newest == nil && g.members[m.id] == m {
		delete(g.members, m.id)
		heap.Remove(&g.most, m.index)
	}
	if len(g.members) == 0 && p.groups[g.owner] == g {
		delete(p.groups, g.owner)
		heap.Remove(&p.most, g.index)
	}
}

// remove takes a place out for good.
func (p *Pool) remove(place *Place) {
	p.detach(place)
	p.finish(place)
}

// finish ends a place that is detached.
func (p *Pool) finish(place *Place) {
	m := place.of
	place.of, place.idleIn = nil, nil
	p.forgetEmpty(m)
}

// detach takes a place out of the places of its member and of its group. Its idleIn
// still says whether it was idle.
func (p *Pool) detach(place *Place) {
	m := place.of
	if place.idleIn != nil {
		place.idleIn.remove(place)
	}
	if place.before != nil {
		place.before.after = place.after
	}
	if place.after != nil {
		place.after.before = place.before
	} else {
		m.newest = place.before
	}
	p.add(m, -place.size)
}

// restore undoes detach, in the opposite order.
func (p *Pool) restore(place *Place) {
	m := place.of
	if place.idleIn != nil {
		place.idleIn.pushFront(place)
	}
	if place.before != nil {
		place.before.after = place
	}
	if place.after != nil {
		place.after.before = place
	} else {
		m.newest = place
	}
	p.add(m, place.size)
}

// add changes what a member holds.
func (p *Pool) add(m *member, size int64) {
	p.clock++
	p.held += size
	m.held, m.since = m.held+size, p.clock
	heap.Fix(&m.group.most, m.index)
	g := m.group
	g.held, g.since = g.held+size, p.clock
	heap.Fix(&p.most, g.index)
}

// rank is where somebody stands in a ranking.
type rank struct {
	held  int64
	since uint64 // when held changed last
	index int
}

func (r *rank) ranked() *rank { return r }

// ranking is a heap: whoever holds most comes first, and of several whoever has done
// so for longest.
type ranking[T interface{ ranked() *rank }] []T

func (r ranking[T]) first() (none T) {
	if len(r) == 0 {
		return none
	}
	return r[0]
}

func (r ranking[T]) Len() int { return len(r) }

func (r ranking[T]) Less(i, j int) bool {
	a, b := r[i].ranked(), r[j].ranked()
	if a.held != b.held {
		return a.held > b.held
	}
	return a.since < b.since
}

func (r ranking[T]) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].ranked().index, r[j].ranked().index = i, j
}

func (r *ranking[T]) Push(x any) {
	t := x.(T)
	t.ranked().index = len(*r)
	*r = append(*r, t)
}

func (r *ranking[T]) Pop() any {
	last := len(*r) - 1
	t := (*r)[last]
	(*r)[last] = *new(T)
	*r = (*r)[:last]
	return t
}
