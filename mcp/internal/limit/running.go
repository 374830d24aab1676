package limit

import (
	"sync"
	"sync/atomic"
	"time"
)

// oldCall is the age from which a call may be ended for a call of another session or
// connection of the same group that has none running. Calls that are shorter make room by
// ending themselves, also in an overload by many clients.
const oldCall = 10 * time.Second

// RunningCalls holds the calls that run, so that one of them can be ended to make room for
// the call of another owner. Add and Remove cost one uncontended mutex each. It is safe for
// concurrent use.
type RunningCalls struct {
	bounds Bounds
	last   atomic.Uint64 // the number of the newest call
	shards [64]callShard

	mu    sync.Mutex
	marks []callMark // guarded by mu: when calls were this old, the oldest mark first
}

// callShard holds a part of the calls.
type callShard struct {
	mu    sync.Mutex
	first *RunningCall // guarded by mu
}

// callMark records the newest call at a time.
type callMark struct {
	at     time.Time
	newest uint64
}

// RunningCall is one call. It is a field of the struct of the Caller, which saves an
// allocation.
type RunningCall struct {
	// Admitted says that the call has a place in the gate, or had one. It belongs to the Caller.
	Admitted bool

	evicted    bool // guarded by the shard's mu
	waiting    bool // guarded by the shard's mu
	of         Caller
	number     uint64       // the first call has 1
	prev, next *RunningCall // guarded by the shard's mu
}

// Caller runs a call.
type Caller interface {
	// Owner returns the owner that the call is charged to, and Size the bytes of its params.
	Owner() Owner
	Size() int
	// Evict ends the call to make room for another. It is called without a lock.
	Evict()
}

// NewRunningCalls returns an empty table for calls within the bounds.
func NewRunningCalls(b Bounds) *RunningCalls { return &RunningCalls{bounds: b} }

// Add adds a call, which needs one Remove.
func (r *RunningCalls) Add(c *RunningCall, of Caller) {
	c.of, c.number = of, r.last.Add(1)
	if c.number%64 == 1 {
		r.mark(time.Now())
	}
	s := r.shardOf(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.next = s.first; c.next != nil {
		c.next.prev = c
	}
	s.first = c
}

func (r *RunningCalls) shardOf(c *RunningCall) *callShard {
	return &r.shards[c.number%uint64(len(r.shards))]
}

// Remove removes a call, and reports whether it was evicted.
func (r *RunningCalls) Remove(c *RunningCall) (evicted bool) {
	s := r.shardOf(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		s.first = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	}
	return c.evicted
}

// SetWaiting marks a call as waiting for its client, or as running again. A waiting call
// holds no place, so ending it would make no room.
func (r *RunningCalls) SetWaiting(c *RunningCall, waiting bool) {
	s := r.shardOf(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	c.waiting = waiting
}

// MakeRoom ends calls of other owners to make room for a call of an owner with that many
// bytes. It chooses them by the rules of Pool, with one exception: of the members of the
// owner's own group that have one call each, only a call that has run for 10 seconds or
// more is ended. The room becomes free when the calls have returned.
func (r *RunningCalls) MakeRoom(o Owner, bytes int) {
	need := r.cost(bytes)
	for need > 0 {
		c := r.victim(o, r.cost(bytes))
		if c == nil || !r.evict(c) {
			return
		}
		need -= r.cost(c.of.Size())
	}
}

// evict ends a call, and reports false if that was done before.
func (r *RunningCalls) evict(c *RunningCall) bool {
	s := r.shardOf(c)
	s.mu.Lock()
	first := !c.evicted
	c.evicted = true
	s.mu.Unlock()
	if first {
		c.of.Evict()
	}
	return first
}

// cost returns the weight of a call in units of a call without bytes.
func (r *RunningCalls) cost(bytes int) int {
	return 1 + bytes/max(r.bounds.Bytes/max(r.bounds.Calls, 1), 1)
}

// callGroup holds the running calls of a group, by member.
type callGroup struct {
	cost    int
	members map[Member]*callsOf
}

// callsOf holds the running calls of one member.
type callsOf struct {
	cost           int
	oldest, newest *RunningCall
}

// victim returns the call to end for one of that cost, or nil.
func (r *RunningCalls) victim(o Owner, cost int) *RunningCall {
	groups := r.count()
	own := groups[o.Group()]
	if own == nil {
		own = new(callGroup)
	}
	largest := own
	for _, c := range groups {
		if c.cost > largest.cost {
			largest = c
		}
	}
	if largest != own && own.cost+cost < largest.cost {
		return largest.largest().newest
	}
	mine, top := 0, own.largest()
	if m := own.members[o.member]; m != nil {
		mine = m.cost
	}
	switch {
	case top == nil || mine+cost > top.cost:
		return nil
	case mine+cost < top.cost:
		return top.newest
	}
	if old := r.longAgo(); top.oldest.number <= old {
		return top.oldest
	}
	return nil
}

// count counts the calls by group and member, without those that were evicted.
func (r *RunningCalls) count() map[Owner]*callGroup {
	groups := make(map[Owner]*callGroup)
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		for c := s.first; c != nil; c = c.next {
			if c.evicted || c.waiting {
				continue
			}
			o := c.of.Owner()
			g := groups[o.Group()]
			if g == nil {
				g = &callGroup{members: make(map[Member]*callsOf)}
				groups[o.Group()] = g
			}
			g.add(o.member, c, r.cost(c.of.Size()))
		}
		s.mu.Unlock()
	}
	return groups
}

func (g *callGroup) add(of Member, c *RunningCall, cost int) {
	m := g.members[of]
	if m == nil {
		m = &callsOf{oldest: c, newest: c}
		g.members[of] = m
	}
	g.cost, m.cost = g.cost+cost, m.cost+cost
	if c.number < m.oldest.number {
		m.oldest = c
	}
	if c.number > m.newest.number {
		m.newest = c
	}
}

// largest returns the member with the highest cost, and of several the one whose oldest call
// has run longest.
func (g *callGroup) largest() (top *callsOf) {
	for _, m := range g.members {
		if top == nil || m.cost > top.cost || m.cost == top.cost && m.oldest.number < top.oldest.number {
			top = m
		}
	}
	return top
}

// longAgo returns the number of the newest call that has certainly run for oldCall. The
// time is read once in 64 calls, and when calls have to wait, so that most calls need not
// read it.
func (r *RunningCalls) longAgo() (old uint64) {
	now := time.Now()
	r.mark(now)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.marks) > 0 && now.Sub(r.marks[0].at) >= oldCall {
		old = r.marks[0].newest
	}
	return old
}

// mark records the newest call. Of the marks that are as old as oldCall it keeps only the
// youngest.
func (r *RunningCalls) mark(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.marks); n == 0 || now.Sub(r.marks[n-1].at) >= time.Second {
		r.marks = append(r.marks, callMark{now, r.last.Load()})
	}
	for len(r.marks) > 1 && now.Sub(r.marks[1].at) >= oldCall {
		r.marks = r.marks[1:]
	}
}
