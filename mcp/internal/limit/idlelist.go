package limit

// idleList are idle places, the longest idle first.
type idleList struct{ first, last *Place }

func (l *idleList) pushBack(p *Place) {
	p.idleIn, p.idleFor, p.idleSince = l, l.last, nil
	l.link(p)
}

// link adds a place between its neighbours. After remove it undoes that.
func (l *idleList) link(p *Place) {
	p.of.idle++
	if p.idleFor != nil {
		p.idleFor.idleSince = p
	} else {
		l.first = p
	}
	if p.idleSince != nil {
		p.idleSince.idleFor = p
	} else {
		l.last = p
	}
}

// remove removes a place, which still knows where it was.
func (l *idleList) remove(p *Place) {
	p.of.idle--
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
