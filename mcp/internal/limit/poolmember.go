package limit

import "cmp"

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

// longestIdle returns the idle place that the group loses first, or nil.
func (g *group) longestIdle() *Place { return cmp.Or(g.unused.first, g.idle.first) }
