package link

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// maxCallerConnections limits the connections of callers to one upstream, and
	// MaxCallerProcesses those that have a process, to all upstreams. When one is reached, a
	// connection of the owner that has most is closed, see mcpserver.OwnerPool.
	maxCallerConnections = 256
	MaxCallerProcesses   = 1024
	// callerIdleTimeout is how long an unused connection of a caller without a session is
	// kept.
	callerIdleTimeout = 30 * time.Minute
	// maxConnectionsPerOwner limits the connections of one owner for concurrent calls in which
	// the upstream may ask, whatever capabilities they declare. All but the first of a caller are closed after extraIdleTimeout
	// without use.
	maxConnectionsPerOwner = 16
	extraIdleTimeout       = time.Minute
	// sessionAbsence is how long a client has no message in flight and no stream until the unused
	// connections of its session are the first to be closed for another owner.
	sessionAbsence = 2 * time.Minute
)

// Pool has the connections to one upstream. The shared connection lists the features. It serves calls
// only if PoolParams.ShareCalls is set; otherwise each caller has a connection of its own. Pool is safe
// for concurrent use.
type Pool struct {
	PoolParams
	shared *Conn
	places *mcpserver.OwnerPool // of the connections of callers

	// Lifetime.
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex         // guards the fields below
	callers map[Caller][]*Conn // the one with the caller's state first; nil where one has ended
	freed   chan struct{}      // closed when a call leaves its connection
	closed  bool
}

// PoolParams are the parameters of a Pool.
type PoolParams struct {
	// Shared are the parameters of the shared connection.
	Shared Params
	// Own returns the parameters of a connection of a caller; Kind, Session and Owner are set by the Pool.
	// IdleTimeout is that of the first one of a caller. Zero stands for 30 minutes if it has no session.
	Own func(Caller) Params
	// ShareCalls makes calls use the shared connection.
	ShareCalls bool
	// Processes limits the connections of callers that have a process, to all upstreams. It is nil if
	// they have none.
	Processes *mcpserver.OwnerPool
	// CanAsk reports whether the upstream may ask a caller anything.
	CanAsk func(Capabilities) bool
	// AsksPerson reports whether the upstream may ask the user of the host in place of a caller.
	AsksPerson func(Capabilities) bool
	// Revision returns the revision of the last connection, or zero.
	Revision func() mcp.Revision
	// Wait limits how long a call waits for a connection while all are in use.
	Wait time.Duration
	Log  *slog.Logger
}

// NewPool returns a pool without connections of callers, until ctx ends.
func NewPool(ctx context.Context, p PoolParams) *Pool {
	pool := &Pool{
		PoolParams: p,
		places:     mcpserver.NewOwnerPool(mcpserver.OwnerPoolOptions{Total: maxCallerConnections, KeepBusy: true}),
		callers:    make(map[Caller][]*Conn),
		freed:      make(chan struct{}),
	}
	pool.ctx, pool.cancel = context.WithCancel(ctx)
	pool.shared = New(pool.ctx, p.Shared)
	return pool
}

// Start makes the shared connection. It must be called once.
func (p *Pool) Start() { p.work.Go(p.shared.Run) }

// Go runs a function in a goroutine for which Close waits. ctx is done when the pool is closed. Go
// reports false, and does nothing, if it is closed already.
func (p *Pool) Go(f func(ctx context.Context)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.work.Go(func() { f(p.ctx) })
	return true
}

// After runs a function as Go does, after a pause, unless stop is called or the pool is closed before.
func (p *Pool) After(pause time.Duration, f func()) (stop func()) {
	ctx, cancel := context.WithCancel(p.ctx)
	p.Go(func(context.Context) {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
			f()
		case <-ctx.Done():
		}
	})
	return cancel
}

// Context returns a context that is done when the pool is closed.
func (p *Pool) Context() context.Context { return p.ctx }

// Close closes all connections and waits until nothing of the pool runs any more.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.work.Wait()
}

// IsRunning reports whether a connection has not ended yet, with its process.
func (p *Pool) IsRunning() bool { return p.shared.ended.Err() == nil || len(p.All()) > 0 }

// Retry restarts the connections that have failed or wait for the user, and those that
// are connecting, because what the attempt ran into may be solved by now.
func (p *Pool) Retry() {
	connections := []*Conn{p.shared}
	for _, conns := range p.All() {
		connections = append(connections, conns...)
	}
	for _, c := range connections {
		if state, _ := c.State(); !state.IsUp() {
			c.Restart()
		}
	}
}

// Readmit makes all connections again, so that each passes the checks of a start. Calls under way end. It does not wait.
func (p *Pool) Readmit() {
	connections := []*Conn{p.shared}
	for _, conns := range p.All() {
		connections = append(connections, conns...)
	}
	for _, c := range connections {
		c.readmit()
	}
}

// SharedConn returns the shared connection.
func (p *Pool) SharedConn() *Conn { return p.shared }

// CanAskCaller reports whether the upstream can ask a caller anything. It cannot on a shared
// connection.
func (p *Pool) CanAskCaller(c Caller) bool { return !p.ShareCalls && p.CanAsk(c.Capabilities) }

// Use says for what a connection is leased.
type Use struct {
	Caller Caller
	// Owner is the owner to which a connection counts that is made for the use.
	Owner mcpserver.Owner
	// Call is the call to which questions and log messages of the upstream may belong, or nil.
	Call *Call
	// On is the connection to use; nil stands for any one that serves the caller.
	On *Conn
	// Waiter learns that the use waits for a connection. It may be nil.
	Waiter Waiter
}

// Lease returns a lease of a connection that serves the caller. A connection of a caller belongs to the
// place of ctx from then on.
func (p *Pool) Lease(ctx context.Context, use Use) (leased Lease, err error) {
	switch {
	case use.Call == nil || p.CanAskCaller(use.Caller):
	case p.ShareCalls || use.Caller.Session != nil && !(use.Call.Person != nil && p.AsksPerson(use.Caller.Capabilities)):
		use.Call = nil // no message of the upstream can be for the wrong client
	default:
		use.Call.Silent = true
	}
	for range 3 {
		conn, err := p.waitFor(ctx, use)
		if err != nil {
			return leased, err
		}
		if !PlaceFrom(ctx).add(conn) {
			conn.calls.remove(use.Call, &conn.uses)
			conn.Close()
			p.notifyFreed()
			return leased, errPlaceEnded
		}
		leased, err = conn.lease(ctx, use.Waiter)
		leased.call, leased.onRemoved, leased.shared = use.Call, p.notifyFreed, p.shared
		if err == nil {
			return leased, nil
		}
		if leased.removeCall(); !errors.Is(err, errClosed) {
			return leased, err
		}
	}
	return leased, errClosed
}

// waitFor returns the connection that serves a caller and adds the call to it.
// If the caller has no session, the call may have to be the only one on the connection: a
// server of the session era does not say in which call it asks or logs, and the requests of
// one principal may come from several clients. See Call.canShare. If all connections are in
// use, it waits up to PoolParams.Wait.
func (p *Pool) waitFor(ctx context.Context, use Use) (*Conn, error) {
	conn, freed, err := p.find(use)
	if conn != nil || err != nil {
		return conn, err
	}
	timer := time.NewTimer(p.Wait)
	defer timer.Stop()
	for conn == nil && err == nil {
		select {
		case <-freed:
			conn, freed, err = p.find(use)
		case <-timer.C:
			return nil, PublicErrorf("%d calls that may ask their user are under way, which is the limit", maxConnectionsPerOwner)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return conn, err
}

// find returns the connection that serves a caller, after it has added the call
// to it. If none is free it returns a channel that is closed when one may be.
func (p *Pool) find(use Use) (*Conn, <-chan struct{}, error) {
	if p.ShareCalls {
		return p.shared, nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch session := use.Caller.Session; {
	case p.closed:
		return nil, nil, PublicErrorf("the upstream was removed from the configuration")
	case session != nil && session.Context().Err() != nil:
		return nil, nil, PublicErrorf("the session has ended")
	}
	add := addition{call: use.Call, exclusive: use.Call != nil && use.Caller.Session == nil && !p.Revision().Stateless()}
	if use.On != nil {
		add.onlyHere = true
		switch {
		case use.On.IsClosed():
			return nil, nil, PublicErrorf("the connection over which the server has added it was closed")
		case use.On.add(add):
			return use.On, nil, nil
		}
		return nil, p.freed, nil
	}
	conns := p.callers[use.Caller]
	next := len(conns) // the number of the connection to start
	for i, conn := range conns {
		if conn == nil || conn.IsClosed() {
			next = i
			break
		}
		if conn.add(add) {
			return conn, nil, nil
		}
	}
	if add.exclusive && p.inUseBy(use.Owner) >= maxConnectionsPerOwner {
		return nil, p.freed, nil
	}
	return p.start(use, next, add)
}

// inUseBy returns the number of connections with calls of an owner. The caller holds mu.
func (p *Pool) inUseBy(owner mcpserver.Owner) (n int) {
	for _, conns := range p.callers {
		for _, conn := range conns {
			if conn != nil && conn.calls.has(owner) {
				n++
			}
		}
	}
	return n
}

// start starts the i-th connection of a caller, counts it to the owner and adds the
// call to it. The caller of the method holds mu.
func (p *Pool) start(use Use, i int, add addition) (*Conn, <-chan struct{}, error) {
	conn := p.newConn(use, i > 0)
	if err := p.takePlaces(conn); err != nil {
		conn.cancel()
		return nil, nil, err
	}
	if i == len(p.callers[use.Caller]) {
		p.callers[use.Caller] = append(p.callers[use.Caller], nil)
	}
	p.callers[use.Caller][i] = conn
	add.onlyHere = true
	conn.add(add)
	p.run(use.Caller, conn)
	return conn, nil, nil
}

// newConn returns a connection that lasts until its session ends or until it is
// unused for its idle timeout. Extra ones are for concurrent calls.
func (p *Pool) newConn(use Use, extra bool) *Conn {
	params := p.Own(use.Caller)
	params.Kind, params.Session, params.Owner = Own, use.Caller.Session, use.Owner
	if params.IdleTimeout == 0 && params.Session == nil {
		params.IdleTimeout = callerIdleTimeout
	}
	if extra {
		params.Kind, params.IdleTimeout = Extra, extraIdleTimeout
	}
	return New(p.ctx, params)
}

// takePlaces counts a connection to its owner. If there is no room, connections of the owners
// with most are closed.
func (p *Pool) takePlaces(conn *Conn) error {
	if p.places.Held() >= maxCallerConnections {
		p.markAbsent()
	}
	place, err := p.places.Take(conn.Owner, 1, conn.evict)
	if err != nil {
		return PublicErrorf("%d callers have a connection of their own, which is the limit", maxCallerConnections)
	}
	conn.uses.addPlace(place)
	if p.Processes == nil {
		return nil
	}
	process, err := p.Processes.Take(conn.Owner, 1, conn.evict)
	if err != nil {
		place.Release()
		return PublicErrorf("%d processes of servers run for callers, which is the limit", MaxCallerProcesses)
	}
	conn.uses.addPlace(process)
	return nil
}

// markAbsent notes which unused connections are those of sessions whose clients are absent: they are closed first,
// of these the one that has been unused longest. The caller holds mu.
func (p *Pool) markAbsent() {
	var conns []*Conn
	for c, all := range p.callers {
		for _, conn := range all {
			if conn != nil && c.Session != nil {
				conns = append(conns, conn)
			}
		}
	}
	slices.SortFunc(conns, func(a, b *Conn) int { return a.uses.last().Compare(b.uses.last()) })
	for _, conn := range conns {
		conn.uses.setAbsent(conn.Session.AbsentFor() >= sessionAbsence)
	}
}

// run runs a connection of a caller until it is closed.
func (p *Pool) run(c Caller, conn *Conn) {
	stop := func() bool { return true }
	if c.Session != nil {
		stop = context.AfterFunc(c.Session.Context(), conn.cancel)
	}
	p.work.Go(func() {
		defer conn.end()
		defer conn.uses.releasePlaces()
		defer p.remove(c, conn)
		defer stop()
		conn.run()
	})
}

// notifyFreed wakes all who wait for a free connection.
func (p *Pool) notifyFreed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.freed)
	p.freed = make(chan struct{})
}

// remove removes a connection that has ended. Its place among those of its caller
// stays empty while there are later ones.
func (p *Pool) remove(c Caller, conn *Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	conns := p.callers[c]
	if i := slices.Index(conns, conn); i >= 0 {
		conns[i] = nil
	}
	for len(conns) > 0 && conns[len(conns)-1] == nil {
		conns = conns[:len(conns)-1]
	}
	p.callers[c] = conns
	if len(conns) == 0 {
		delete(p.callers, c)
	}
}

// First returns the connection that keeps the state of a caller, or nil.
func (p *Pool) First(c Caller) *Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if conns := p.callers[c]; len(conns) > 0 {
		return conns[0]
	}
	return nil
}

// Of iterates over the connections of a caller. The loop must not call methods of the pool.
func (p *Pool) Of(c Caller) iter.Seq[*Conn] {
	return func(yield func(*Conn) bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, conn := range p.callers[c] {
			if conn != nil && !yield(conn) {
				return
			}
		}
	}
}

// All returns the connections of all callers.
func (p *Pool) All() map[Caller][]*Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make(map[Caller][]*Conn, len(p.callers))
	for c, conns := range p.callers {
		all[c] = slices.DeleteFunc(slices.Clone(conns), func(conn *Conn) bool { return conn == nil })
	}
	return all
}

// EndCallers closes the connections of the callers that match, and returns their number. Each removes
// itself when it has ended.
func (p *Pool) EndCallers(match func(Caller) bool) (ended int) {
	for c, conns := range p.All() {
		if match(c) {
			for _, conn := range conns {
				conn.Close()
				ended++
			}
		}
	}
	return ended
}
