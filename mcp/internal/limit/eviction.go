package limit

import (
	"cmp"
	"slices"
)

// The methods below need the mu of the Pool.

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
