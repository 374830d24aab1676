package model_test

import (
	"fmt"
	"slices"
	"time"
)

// operation is one operation of a schedule.
type operation struct {
	at   time.Duration
	what string
	do   func(w *world) // may block
}

const (
	replicasAtFirst = 3
	opensUntil      = time.Second      // sessions are opened in this time
	operationsEnd   = 20 * time.Second // nothing is begun after it
	faultsEnd       = 25 * time.Second
	shortestLife    = time.Second // of a replica
)

// planner makes a schedule.
type planner struct {
	*random
	w    *world
	plan []operation
}

// makePlan returns the schedule of a seed. Every fourth one has no faults, so that what the
// faults excuse is checked as well.
func makePlan(w *world) []operation {
	p := &planner{random: newRandom(w.seed, 1), w: w}
	owners := []string{"ada", "bob"}
	for i := range 1 + p.IntN(4) {
		p.session(fmt.Sprint("session", i), owners[p.IntN(2)])
	}
	for i := range p.IntN(3) {
		p.statelessClient(fmt.Sprint("stateless", i), owners[p.IntN(2)])
	}
	for range p.IntN(2) {
		p.flood()
	}
	if w.seed%4 != 0 {
		for range 1 + p.IntN(4) {
			p.fault()
		}
	}
	slices.SortStableFunc(p.plan, func(a, b operation) int { return int(a.at - b.at) })
	return p.plan
}

func (p *planner) add(at time.Duration, do func(w *world), what string, args ...any) {
	p.plan = append(p.plan, operation{at, fmt.Sprintf(what, args...), do})
}

func (p *planner) time() time.Duration { return p.duration(opensUntil, operationsEnd) }

// session plans what one client of the session era does.
func (p *planner) session(name, owner string) {
	revision := []string{"2025-11-25", "2025-06-18"}[p.IntN(2)]
	s := newSession(p.w, name, owner, revision)
	p.w.sessions = append(p.w.sessions, s)
	p.add(p.duration(0, opensUntil/2), func(*world) { s.open() }, "%s of %s opens a session of %s", name, owner, revision)
	for range 2 + p.IntN(8) {
		p.sessionOperation(s)
	}
	if p.percent() < 20 {
		p.add(p.duration(operationsEnd/2, operationsEnd), func(*world) { s.end() }, "%s deletes its session", name)
	}
}

func (p *planner) sessionOperation(s *session) {
	at := p.time()
	switch p.IntN(10) {
	case 0, 1, 2:
		p.sessionCall(s, at, "progress", arguments{Steps: p.IntN(8), Pause: 60 + p.IntN(2000)})
	case 3, 4:
		p.sessionCall(s, at, "ask", arguments{Pause: p.IntN(1000)})
	case 5:
		p.sessionCall(s, at, "wait", arguments{Pause: p.IntN(8000)})
	case 6, 7:
		p.add(at, func(*world) { s.listen() }, "%s opens a GET stream", s.name)
		for range p.IntN(4) {
			p.add(p.duration(at, operationsEnd), func(*world) { s.disconnect("") }, "%s loses its GET stream", s.name)
		}
	default:
		uri := fmt.Sprint("notes://", s.name, "-", p.IntN(2))
		p.add(at, func(*world) { s.subscribe(uri) }, "%s subscribes to %s", s.name, uri)
		for range p.IntN(4) {
			p.add(p.duration(at, operationsEnd), func(w *world) { w.update(uri) }, "%s is updated", uri)
		}
	}
}

// sessionCall plans a call, whose client loses its connection some times.
func (p *planner) sessionCall(s *session, at time.Duration, tool string, in arguments) {
	c := s.newCall(tool == "ask")
	in.Nonce = c.nonce
	if tool == "progress" {
		c.steps = in.Steps
	}
	p.add(at, func(*world) { s.call(c, tool, in) }, "%s calls %s %+v", s.name, tool, in)
	for range p.IntN(4) {
		p.add(p.duration(at, at+10*time.Second), func(*world) { s.disconnect(c.nonce) }, "%s loses the connection of %s", s.name, c.nonce)
	}
	if p.percent() < 15 {
		p.add(p.duration(at, at+5*time.Second), func(*world) { s.cancelCall(c) }, "%s cancels %s", s.name, c.nonce)
	}
}

// statelessClient plans what one client of 2026-07-28 does.
func (p *planner) statelessClient(name, owner string) {
	c := &statelessClient{newClient(p.w, name, owner)}
	for range 1 + p.IntN(5) {
		at := p.time()
		switch p.IntN(3) {
		case 0:
			p.statelessCall(c, at, "progress", arguments{Steps: p.IntN(6), Pause: 60 + p.IntN(1000)}, 0)
		case 1:
			p.statelessCall(c, at, "ask", arguments{Pause: p.IntN(1000)}, p.IntN(3))
		default:
			of := c.newCall(true)
			of.durable = true
			in := arguments{Nonce: of.nonce, Steps: p.IntN(4), Pause: p.IntN(3000)}
			p.add(at, func(*world) { c.order(of, in) }, "%s begins a durable task %+v", name, in)
		}
	}
}

func (p *planner) statelessCall(c *statelessClient, at time.Duration, tool string, in arguments, maxResent int) {
	of := c.newCall(tool == "ask")
	in.Nonce = of.nonce
	if tool == "progress" {
		of.steps = in.Steps
	}
	p.add(at, func(*world) { c.call(of, tool, in, maxResent) }, "%s calls %s %+v", c.name, tool, in)
}

// flood plans more calls of one owner at one replica than its share, and one of another owner.
func (p *planner) flood() {
	at, which := p.time(), p.IntN(replicasAtFirst)
	p.add(at, func(w *world) { w.flood(w.live()[which%len(w.live())]) }, "greedy floods a replica")
}

// fault plans one fault.
func (p *planner) fault() {
	at := p.duration(opensUntil, operationsEnd)
	which, lasts := p.IntN(replicasAtFirst), p.duration(100*time.Millisecond, 12*time.Second)
	switch p.IntN(6) {
	case 0, 1:
		p.add(at, func(w *world) { w.kill(which) }, "replica %d is killed, and another one started", which)
	case 2, 3:
		state := []connection{answersLost, callsLost, cut}[p.IntN(3)]
		p.add(at, func(w *world) { w.partition(which, state, lasts) }, "replica %d and the engine: %v for %v", which, state, lasts)
	case 4:
		percent := 1 + p.IntN(30)
		p.add(at, func(w *world) { w.failCalls(which, percent, lasts) }, "replica %d: %d %% of the calls of the engine fail for %v", which, percent, lasts)
	default:
		f := busFaults{p.IntN(60), p.IntN(60), p.IntN(60), p.IntN(60)}
		p.add(at, func(w *world) { w.disturbBus(f, lasts) }, "messages of the Bus: %+v for %v", f, lasts)
	}
}
