package limit

// HeldBy returns the units that one owner holds.
func (p *Pool) HeldBy(o Owner) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if g := p.groups[o.Group()]; g != nil && g.members[o.member] != nil {
		return int(g.members[o.member].held)
	}
	return 0
}
