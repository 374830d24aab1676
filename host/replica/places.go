package replica

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	callerPrefix = "callers/"
	// placeTime is how long the record of a caller is kept after its last renewal, longer than a
	// session lives. A record is renewed with the first request after placeRenewal.
	placeTime    = 25 * time.Hour
	placeRenewal = 10 * time.Minute
	// routeTime is how long the host of a caller is remembered that another host has.
	routeTime = 2 * time.Second
	// maxPlaces limits the callers of this host, and those of others that are remembered.
	// maxOwnerPlaces limits those of one owner.
	maxPlaces      = 65_536
	maxOwnerPlaces = 8_192
	// freeRecord is the record of a caller that has been given back, and freeTime how long it is kept.
	freeRecord = "free"
	freeTime   = leaseTime
	// storeTime limits the calls of the store for one attempt to find a caller, and endTime how long
	// the record of a caller waits for the end of its processes.
	storeTime = 2 * time.Second
	endTime   = 10 * time.Second
)

var (
	errFull    = errors.New("this host has as many callers as it may have")
	errChanges = errors.New("other hosts change who has the caller")
	// errUnsettled says that the host of a caller may be one that has gone on without the store.
	errUnsettled = errors.New("the host that has the caller has ended, or is not back")
)

// Processes are what a caller has at a host, see link.Place.
type Processes interface {
	// End ends them, and returns when they have ended or ctx is done. It is called once.
	End(ctx context.Context) error
}

// Places knows which host has a caller. A caller without a host, or whose host has ended, gets the
// host that asks first. It is safe for concurrent use.
//
// Whoever changes who has a caller has the turn of its entry meanwhile, also while it waits for the
// store. So a caller is not taken again before its processes have ended and its record is removed.
type Places struct {
	group        *Group
	newProcesses func() Processes
	pool         *mcpserver.OwnerPool
	recheck      chan struct{} // one token: the id of this host has changed
	work         sync.WaitGroup

	mu      sync.Mutex
	entries map[string]*entry // guarded by mu: callers of this host, and those that are looked for
	routes  map[string]route  // guarded by mu: callers of other hosts
}

type entry struct {
	turn  chan struct{} // of capacity 1: full while a goroutine has the turn
	users int           // guarded by mu of Places: goroutines that have or want the turn
	own   *place        // guarded by mu of Places; changed with the turn; nil if this host does not have the caller
}

// place is a caller of this host. mu of Places guards what is not constant.
type place struct {
	caller    string
	processes Processes             // constant
	share     *mcpserver.OwnerPlace // constant
	host      string                // the id that this host had
	renewed   time.Time
	used      time.Time
	uses      int  // requests that are being served
	confirmed bool // a request was served without an error
}

// route says where a caller is.
type route struct {
	host string // an id
	url  string
	read time.Time
}

// NewPlaces returns the places of the callers of a group. newProcesses is called for each caller that
// this host takes.
func NewPlaces(g *Group, newProcesses func() Processes) *Places {
	return &Places{
		group: g, newProcesses: newProcesses, recheck: make(chan struct{}, 1),
		pool:    mcpserver.NewOwnerPool(mcpserver.OwnerPoolOptions{Total: maxPlaces, Principal: maxOwnerPlaces, KeepBusy: true}),
		entries: make(map[string]*entry), routes: make(map[string]route),
	}
}

// enter returns the place of a caller of this host, for one use that ends with leave, or where the
// caller is. A new place counts to the owner. While the store does not answer, the callers of this
// host stay.
func (p *Places) enter(ctx context.Context, caller string, owner mcpserver.Owner) (*place, route, error) {
	if own, known, ok := p.lookUp(caller); ok {
		return own, known, nil
	}
	e, err := p.take(ctx, caller)
	if err != nil {
		return nil, route{}, err
	}
	defer p.giveBack(caller, e)
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	for range 4 {
		found, err := p.find(ctx, caller, e, owner)
		switch {
		case errors.Is(err, errChanges):
			continue
		case err != nil && !errors.Is(err, errUnsettled) && p.use(e) != nil:
			return e.own, route{}, nil
		case err != nil:
			return nil, route{}, err
		case found.url == "":
			return p.use(e), route{}, nil
		}
		p.remember(caller, found)
		return nil, found, nil
	}
	return nil, route{}, errChanges
}

// lookUp returns what enter does if the store need not be asked.
func (p *Places) lookUp(caller string) (*place, route, bool) {
	self, keeps := p.group.ID(), p.group.keepsPlaces()
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[caller]
	if e != nil && e.own != nil {
		fresh := keeps && e.own.host == self && time.Since(e.own.renewed) < placeRenewal
		if fresh {
			p.useLocked(e.own)
		}
		return e.own, route{}, fresh
	}
	known, remembered := p.routes[caller]
	return nil, known, remembered && time.Since(known.read) < routeTime
}

// take returns the entry of a caller with its turn.
func (p *Places) take(ctx context.Context, caller string) (*entry, error) {
	p.mu.Lock()
	e := p.entries[caller]
	if e == nil {
		e = &entry{turn: make(chan struct{}, 1)}
		p.entries[caller] = e
	}
	e.users++
	p.mu.Unlock()
	select {
	case e.turn <- struct{}{}:
		return e, nil
	case <-ctx.Done():
		p.forgetUser(caller, e)
		return nil, context.Cause(ctx)
	}
}

func (p *Places) giveBack(caller string, e *entry) {
	<-e.turn
	p.forgetUser(caller, e)
}

func (p *Places) forgetUser(caller string, e *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.users--; e.users == 0 && e.own == nil {
		delete(p.entries, caller)
	}
}

// use counts a use of the place of an entry, and returns nil if there is none. The caller has the turn.
func (p *Places) use(e *entry) *place {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.own != nil {
		p.useLocked(e.own)
	}
	return e.own
}

func (p *Places) useLocked(own *place) {
	if own.uses++; own.uses == 1 {
		own.share.SetBusy()
	}
}

// find reads the record of a caller, and takes the caller if no host that runs has it. It returns an
// empty route if this host has the caller. The caller of find has the turn.
func (p *Places) find(ctx context.Context, caller string, e *entry, owner mcpserver.Owner) (route, error) {
	self, before, key := p.group.ID(), "", callerPrefix+caller
	if e.own != nil {
		before = e.own.host
	}
	raw, found, err := p.group.store.Get(ctx, key)
	if err != nil {
		return route{}, err
	}
	has := string(raw)
	if found && has != freeRecord && has != self && has != before {
		url, err := p.group.urlOf(ctx, has)
		switch {
		case err != nil:
			return route{}, err
		case url != "":
			p.lose(e)
			return route{host: has, url: url, read: time.Now()}, nil
		case !p.group.mayTakeOver():
			return route{}, errUnsettled
		}
		p.lose(e) // another host has had the caller since
	}
	if err := p.reserve(caller, e, owner); err != nil {
		return route{}, err
	}
	var taken bool
	if found {
		taken, err = p.group.store.Swap(ctx, key, raw, []byte(self), placeTime)
	} else {
		taken, err = p.group.store.Create(ctx, key, []byte(self), placeTime)
	}
	if err == nil && !taken {
		err = errChanges
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case e.own == nil: // it was evicted meanwhile
		return route{}, errFull
	case err == nil:
		e.own.host, e.own.renewed = self, time.Now()
		delete(p.routes, caller)
	case e.own.host == "":
		p.discardLocked(e)
	}
	return route{}, err
}

// reserve gives an entry a place that has no host yet.
func (p *Places) reserve(caller string, e *entry, owner mcpserver.Owner) error {
	if e.own != nil {
		return nil
	}
	own := &place{caller: caller, processes: p.newProcesses(), used: time.Now()}
	share, err := p.pool.Take(owner, 1, func() { p.evict(own) })
	if err != nil {
		return errFull
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	own.share, e.own = share, own
	return nil
}

// discardLocked removes a place that has no processes. The caller has the turn, and holds mu.
func (p *Places) discardLocked(e *entry) {
	e.own.share.Release()
	e.own = nil
}

// lose removes the place of a caller that another host has. It does not wait for its processes.
func (p *Places) lose(e *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.own == nil {
		return
	}
	processes := e.own.processes
	p.discardLocked(e)
	p.work.Go(func() { end(processes) })
}

func end(processes Processes) {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	_ = processes.End(ctx)
}

// leave ends a use of a place. served says that the request was not refused, and ended that it was
// the last one of the caller. A caller of which no request was served gives its place back.
func (p *Places) leave(own *place, served, ended bool) {
	p.mu.Lock()
	own.confirmed = own.confirmed || served
	own.used = time.Now()
	own.uses--
	unused := own.uses == 0
	if unused {
		own.share.SetIdle(own.confirmed)
	}
	drop := unused && (ended || !own.confirmed)
	p.mu.Unlock()
	if drop {
		p.work.Go(func() { p.drop(own, func() bool { return own.uses == 0 && (ended || !own.confirmed) }) })
	}
}

// evict removes a place for another owner, whether it is in use or not.
func (p *Places) evict(own *place) {
	p.work.Go(func() { p.drop(own, func() bool { return true }) })
}

// handOver removes the place of a caller that is not in use, and reports whether it has. A host that
// shuts down does so for the requests of others.
func (p *Places) handOver(caller string) bool {
	p.mu.Lock()
	e := p.entries[caller]
	if e == nil || e.own == nil {
		p.mu.Unlock()
		return true
	}
	own := e.own
	p.mu.Unlock()
	return p.drop(own, func() bool { return own.uses == 0 })
}

// drop ends the processes of a place and removes its record, if the condition holds, which is called
// with mu. It reports whether the place is removed.
func (p *Places) drop(own *place, condition func() bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), endTime+storeTime)
	defer cancel()
	e, err := p.take(ctx, own.caller)
	if err != nil {
		return false
	}
	defer p.giveBack(own.caller, e)
	p.mu.Lock()
	if e.own != own || !condition() {
		gone := e.own != own
		p.mu.Unlock()
		return gone
	}
	p.discardLocked(e)
	p.mu.Unlock()
	end(own.processes)
	ctx, cancelStore := context.WithTimeout(context.Background(), storeTime)
	defer cancelStore()
	// If it fails, the record expires, or names a host that has ended.
	_, _ = p.group.store.Swap(ctx, callerPrefix+own.caller, []byte(own.host), []byte(freeRecord), freeTime)
	return true
}

// remember keeps for a short time where a caller of another host is.
func (p *Places) remember(caller string, r route) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.routes) >= maxPlaces {
		clear(p.routes)
	}
	p.routes[caller] = r
}

// forget makes the next enter read where a caller of another host is.
func (p *Places) forget(caller string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.routes, caller)
}
