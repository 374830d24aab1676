package gateway

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// maxCallerConnections limits the connections of callers to one upstream, and
	// maxCallerProcesses those that have a process, to all upstreams. When one is reached, a
	// connection of the owner that has most is closed, see mcpserver.OwnerPool.
	maxCallerConnections = 256
	maxCallerProcesses   = 1024
	// callerIdleTimeout is how long an unused connection of a caller without a session is
	// kept.
	callerIdleTimeout = 30 * time.Minute
	// maxConnectionsPerCaller limits the connections of one owner for concurrent calls in which
	// the upstream may ask. All but the first of a caller are closed after extraIdleTimeout
	// without use.
	maxConnectionsPerCaller = 16
	extraIdleTimeout        = time.Minute
)

// caller identifies who has a connection of its own: a session or, in the stateless era,
// a principal with the capabilities that its request declares.
type caller struct {
	principal    mcp.Principal
	session      *mcpserver.Session // or nil
	capabilities callerCapabilities // in the stateless era each request declares them
}

func callerOf(r *mcpserver.Request) caller {
	return caller{principal: r.Principal(), session: r.Session(), capabilities: capabilitiesOf(r)}
}

// canAsk reports whether the upstream can ask a caller anything. It cannot on a shared
// connection.
func (u *upstream) canAsk(c caller) bool {
	return !u.Settings.Share && u.relayed(c.capabilities) != callerCapabilities{}
}

// lease returns a lease of the connection that serves a caller. Questions and log messages of the
// upstream may belong to the call k, which may be nil. A connection that is made for it counts to the
// owner. If on is not nil, the lease is of that connection.
func (u *upstream) lease(ctx context.Context, c caller, owner mcpserver.Owner, k *call, on *connection) (leased lease, err error) {
	switch {
	case k == nil || u.canAsk(c):
	case u.Settings.Share || c.session != nil:
		k = nil // no message of the upstream can be for the wrong client
	default:
		k.silent = true
	}
	for range 3 {
		conn, err := u.waitForConnection(ctx, c, owner, k, on)
		if err != nil {
			return leased, err
		}
		if !placeFrom(ctx).add(conn) {
			conn.removeCall(k)
			conn.close()
			u.notifyFreed()
			return leased, errPlaceEnded
		}
		leased, err = conn.lease(ctx)
		leased.call, leased.onRemoved, leased.shared = k, u.notifyFreed, u.shared
		if err == nil {
			return leased, nil
		}
		if leased.removeFromConnection(); !errors.Is(err, errConnectionClosed) {
			return leased, err
		}
	}
	return leased, errConnectionClosed
}

// waitForConnection returns the connection that serves a caller and adds the call to it.
// If the caller has no session, the call may have to be the only one on the connection: a
// server of the session era does not say in which call it asks or logs, and the requests of
// one principal may come from several clients. See call.canShare. If all connections are in
// use, waitForConnection waits up to Options.StartTimeout.
func (u *upstream) waitForConnection(ctx context.Context, c caller, owner mcpserver.Owner, k *call, on *connection) (*connection, error) {
	conn, freed, err := u.findConnection(c, owner, k, on)
	if conn != nil || err != nil {
		return conn, err
	}
	timer := time.NewTimer(u.gateway.options.startTimeout())
	defer timer.Stop()
	for conn == nil && err == nil {
		select {
		case <-freed:
			conn, freed, err = u.findConnection(c, owner, k, on)
		case <-timer.C:
			return nil, plainErrorf("%d calls that may ask their user are under way, which is the limit", maxConnectionsPerCaller)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return conn, err
}

// findConnection returns the connection that serves a caller, after it has added the call
// to it. If none is free it returns a channel that is closed when one may be.
func (u *upstream) findConnection(c caller, owner mcpserver.Owner, k *call, on *connection) (*connection, <-chan struct{}, error) {
	if u.Settings.Share {
		return u.shared, nil, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.closed:
		return nil, nil, plainErrorf("the upstream was removed from the configuration")
	case c.session != nil && c.session.Context().Err() != nil:
		return nil, nil, plainErrorf("the session has ended")
	}
	alone := k != nil && c.session == nil && u.lastRevision != mcp.V20260728
	if on != nil {
		switch {
		case on.isClosed():
			return nil, nil, plainErrorf("the connection over which the server has added it was closed")
		case on.addCall(k, alone, true):
			return on, nil, nil
		}
		return nil, u.connectionFreed, nil
	}
	conns := u.callerConnections[c]
	ofOwner := 0
	for i, conn := range conns {
		switch {
		case conn == nil || conn.isClosed():
			return u.startConnection(c, i, owner, k, alone)
		case conn.addCall(k, alone, false):
			return conn, nil, nil
		case conn.hasCallOf(owner):
			ofOwner++
		}
	}
	if ofOwner >= maxConnectionsPerCaller {
		return nil, u.connectionFreed, nil
	}
	return u.startConnection(c, len(conns), owner, k, alone)
}

// startConnection starts the i-th connection of a caller, counts it to the owner and adds the
// call to it. The caller of the method holds mu.
func (u *upstream) startConnection(c caller, i int, owner mcpserver.Owner, k *call, alone bool) (*connection, <-chan struct{}, error) {
	conn := u.newCallerConnection(c, i > 0)
	ctx, cancel := context.WithCancel(u.ctx)
	conn.cancel, conn.owner = cancel, owner
	if err := u.takePlaces(conn, owner); err != nil {
		cancel()
		return nil, nil, err
	}
	if i == len(u.callerConnections[c]) {
		u.callerConnections[c] = append(u.callerConnections[c], nil)
	}
	u.callerConnections[c][i] = conn
	conn.addCall(k, alone, true)
	u.runConnection(ctx, c, conn)
	return conn, nil, nil
}

// takePlaces counts a connection to the owner. If there is no room, connections of the owners
// with most are closed.
func (u *upstream) takePlaces(conn *connection, owner mcpserver.Owner) error {
	place, err := u.connectionPlaces.Take(owner, 1, conn.evict)
	if err != nil {
		return plainErrorf("%d callers have a connection of their own, which is the limit", maxCallerConnections)
	}
	conn.addPlace(place)
	if !u.isProgram() {
		return nil
	}
	process, err := u.gateway.processPlaces.Take(owner, 1, conn.evict)
	if err != nil {
		place.Release()
		return plainErrorf("%d processes of servers run for callers, which is the limit", maxCallerProcesses)
	}
	conn.addPlace(process)
	return nil
}

// notifyFreed wakes all who wait for a free connection.
func (u *upstream) notifyFreed() {
	u.mu.Lock()
	defer u.mu.Unlock()
	close(u.connectionFreed)
	u.connectionFreed = make(chan struct{})
}

// newCallerConnection returns a connection that lasts until its session ends or until it is
// unused for its idle timeout. Extra ones are for concurrent calls.
func (u *upstream) newCallerConnection(c caller, extra bool) *connection {
	idle := u.Settings.Idle
	if idle == 0 && c.session == nil {
		idle = callerIdleTimeout
	}
	if extra {
		idle = extraIdleTimeout
	}
	conn := newConnection(connectionParams{
		session: c.session,
		connect: func(ctx context.Context, conn *connection) (*mcpclient.Client, error) {
			o := u.clientOptions(conn)
			u.declareCapabilities(o, c.capabilities, conn)
			if u.mayHaveOwnFeatures() {
				changed := func(context.Context, *mcpclient.Client) { u.callerListsChanged(conn) }
				o.OnToolsChanged, o.OnPromptsChanged, o.OnResourcesChanged = changed, changed, changed
			}
			if u.mayHaveSessions() {
				o.OnLog = u.forwardLogTo(c.session)
			}
			return u.connect(ctx, o)
		},
		connectWait: u.gateway.options.startTimeout(),
		idleTimeout: idle,
		extra:       extra,
		log:         u.log,
	})
	conn.readFeatures = func(ctx context.Context, client *mcpclient.Client) time.Time {
		return u.readOwnFeatures(ctx, client, c, conn)
	}
	conn.featuresDropped = func(changed changedLists) { changed.notifySession(c.session) }
	return conn
}

// runConnection runs a connection of a caller until it is closed.
func (u *upstream) runConnection(ctx context.Context, c caller, conn *connection) {
	stop := func() bool { return true }
	if c.session != nil {
		stop = context.AfterFunc(c.session.Context(), conn.cancel)
	}
	ended, end := context.WithCancel(context.WithoutCancel(ctx))
	conn.ended = ended
	u.work.Go(func() {
		defer end()
		defer conn.releasePlaces()
		defer u.removeConnection(c, conn)
		defer conn.cancel()
		defer stop()
		conn.run(ctx)
	})
}

// callerListsChanged is called when a server announces a change on a caller connection. It requests
// a new read of the lists of that connection. Unless the connection has a process of its own, it also
// requests a new read of the shared lists: many servers announce a change of all sessions only to the
// session that has caused it.
func (u *upstream) callerListsChanged(conn *connection) {
	conn.requestRefresh()
	if !u.isProgram() {
		u.shared.requestRefresh()
	}
}

// mayHaveOwnFeatures reports whether a caller connection may have features that the shared one
// lacks: those that a server of the session era has added for the session, or those that a
// program has added, because each connection starts it once more. The caller must not hold mu.
//
// Spec: 2026-07-28 server/tools#listing-tools
func (u *upstream) mayHaveOwnFeatures() bool { return u.isProgram() || u.mayHaveSessions() }

func (u *upstream) isProgram() bool {
	_, program := u.Target.(*mcpclient.CommandTarget)
	return program
}

// mayHaveSessions reports whether the upstream is, or may be, of the session era. Only such a
// one sends log messages outside of calls. The caller must not hold mu.
func (u *upstream) mayHaveSessions() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.lastRevision != mcp.V20260728
}

// removeConnection removes a connection that has ended. Its place among those of its caller
// stays empty while there are later ones.
func (u *upstream) removeConnection(c caller, conn *connection) {
	u.mu.Lock()
	defer u.mu.Unlock()
	conns := u.callerConnections[c]
	if i := slices.Index(conns, conn); i >= 0 {
		conns[i] = nil
	}
	for len(conns) > 0 && conns[len(conns)-1] == nil {
		conns = conns[:len(conns)-1]
	}
	u.callerConnections[c] = conns
	if len(conns) == 0 {
		delete(u.callerConnections, c)
	}
}

// firstConnection returns the connection that keeps the state of a caller, or nil. The caller of
// the method holds mu.
func (u *upstream) firstConnection(c caller) *connection {
	if conns := u.callerConnections[c]; len(conns) > 0 {
		return conns[0]
	}
	return nil
}

// allCallerConnections returns the connections of all callers. The caller of the method holds
// mu.
func (u *upstream) allCallerConnections() iter.Seq2[caller, *connection] {
	return func(yield func(caller, *connection) bool) {
		for c, conns := range u.callerConnections {
			for _, conn := range conns {
				if conn != nil && !yield(c, conn) {
					return
				}
			}
		}
	}
}
