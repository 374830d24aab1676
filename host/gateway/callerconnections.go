package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// maxCallerConnections limits the callers of one upstream that have a connection of
	// their own. When it is reached, an unused one of the principal that has most is closed.
	maxCallerConnections = 256
	// callerIdleTimeout is how long an unused connection of a caller without a session is
	// kept.
	callerIdleTimeout = 30 * time.Minute
	// maxConnectionsPerCaller limits the connections of one principal for concurrent
	// calls in which the upstream may ask. All but the first are closed after
	// extraIdleTimeout without use.
	maxConnectionsPerCaller = 16
	extraIdleTimeout        = time.Minute
)

// caller identifies who has a connection of its own: a session or, in the stateless era,
// a principal with the capabilities that its request declares.
type caller struct {
	principal    mcp.Principal
	session      *mcpserver.Session // or nil
	capabilities callerCapabilities // in the stateless era each request declares them
	// index numbers the connections of one principal. In a session it is always zero.
	index int
}

func callerOf(r *mcpserver.Request) caller {
	return caller{principal: r.Principal(), session: r.Session(), capabilities: capabilitiesOf(r)}
}

// canAsk reports whether the upstream can ask a caller anything. It cannot on a shared
// connection.
func (u *upstream) canAsk(c caller) bool {
	return !u.Settings.Share && c.capabilities != callerCapabilities{}
}

// lease returns a lease of the connection that serves a caller. The call is the one to
// which questions and log messages may belong; it may be nil.
// If on is not nil, no other connection will do.
func (u *upstream) lease(ctx context.Context, c caller, k *call, on *connection) (leased lease, err error) {
	switch {
	case k == nil || u.canAsk(c):
	case u.Settings.Share || c.session != nil:
		k = nil // no message of the upstream can be for the wrong client
	default:
		k.silent = true
	}
	for range 3 {
		conn, err := u.waitForConnection(ctx, c, k, on)
		if err != nil {
			return leased, err
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
// one principal may come from several clients. See call.canShare. If all connections are in use, waitForConnection waits
// up to connectWait.
func (u *upstream) waitForConnection(ctx context.Context, c caller, k *call, on *connection) (*connection, error) {
	conn, freed, err := u.findConnection(c, k, on)
	if conn != nil || err != nil {
		return conn, err
	}
	timer := time.NewTimer(connectWait)
	defer timer.Stop()
	for conn == nil && err == nil {
		select {
		case <-freed:
			conn, freed, err = u.findConnection(c, k, on)
		case <-timer.C:
			return nil, fmt.Errorf("%d calls that may ask their user are under way, which is the limit", maxConnectionsPerCaller)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return conn, err
}

// findConnection returns the connection that serves a caller, after it has added the call
// to it. If none is free it returns a channel that is closed when one may be.
func (u *upstream) findConnection(c caller, k *call, on *connection) (*connection, <-chan struct{}, error) {
	if u.Settings.Share {
		return u.shared, nil, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.closed:
		return nil, nil, errors.New("the upstream was removed from the configuration")
	case c.session != nil && c.session.Context().Err() != nil:
		return nil, nil, errors.New("the session has ended")
	}
	alone := k != nil && c.session == nil && u.lastRevision != mcp.V20260728
	if on != nil {
		switch {
		case on.isClosed():
			return nil, nil, errors.New("the connection over which the server has added it was closed")
		case on.addCall(k, alone, true):
			return on, nil, nil
		}
		return nil, u.connectionFreed, nil
	}
	for ; c.index < maxConnectionsPerCaller; c.index++ {
		conn := u.callerConnections[c]
		if conn == nil || conn.isClosed() {
			if len(u.callerConnections) >= maxCallerConnections && !u.makeRoom(c.principal) {
				return nil, nil, fmt.Errorf("%d callers have a connection of their own, which is the limit", maxCallerConnections)
			}
			conn = u.startConnection(c)
		}
		if conn.addCall(k, alone, false) {
			return conn, nil, nil
		}
	}
	return nil, u.connectionFreed, nil
}

// makeRoom closes the connection that has been unused longest, of the principal that has most
// connections, for another principal that has fewer. It reports whether there was one. The
// caller holds mu.
func (u *upstream) makeRoom(wants mcp.Principal) bool {
	counts := make(map[mcp.Principal]int)
	for c := range u.callerConnections {
		counts[c.principal]++
	}
	most := wants
	for principal, n := range counts {
		if n > counts[most] {
			most = principal
		}
	}
	if counts[most] <= counts[wants]+1 { // they have the same share then
		return false
	}
	var victim caller
	var since time.Time
	for c, conn := range u.callerConnections {
		if c.principal != most {
			continue
		}
		if unused, ok := conn.unusedSince(); ok && (since.IsZero() || unused.Before(since)) {
			victim, since = c, unused
		}
	}
	if since.IsZero() || !u.callerConnections[victim].closeIfUnused() {
		return false
	}
	delete(u.callerConnections, victim)
	return true
}

// notifyFreed wakes all who wait for a free connection.
func (u *upstream) notifyFreed() {
	u.mu.Lock()
	defer u.mu.Unlock()
	close(u.connectionFreed)
	u.connectionFreed = make(chan struct{})
}

// startConnection starts a connection that lasts until its session ends or until it is
// unused for its idle timeout. The caller holds mu.
func (u *upstream) startConnection(c caller) *connection {
	idle := u.Settings.Idle
	if idle == 0 && c.session == nil {
		idle = callerIdleTimeout
	}
	if c.index > 0 {
		idle = extraIdleTimeout
	}
	conn := newConnection(connectionParams{
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
		idleTimeout: idle,
		extra:       c.index > 0,
		log:         u.log,
	})
	conn.readFeatures = func(ctx context.Context, client *mcpclient.Client) { u.readOwnFeatures(ctx, client, c, conn) }
	conn.featuresDropped = func(changed changedLists) { changed.notifySession(c.session) }
	u.callerConnections[c] = conn
	ctx, cancel := context.WithCancel(u.ctx)
	conn.cancel = cancel
	stop := func() bool { return true }
	if c.session != nil {
		stop = context.AfterFunc(c.session.Context(), cancel)
	}
	u.work.Go(func() {
		defer u.removeConnection(c, conn)
		defer cancel()
		defer stop()
		conn.run(ctx)
	})
	return conn
}

// callerListsChanged has the lists read again in which a feature may be that a server has
// announced on a caller connection: that of the connection and, unless the connection has a
// process of its own, that of everybody. Many servers announce a change of all sessions only
// to the session that has caused it.
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

func (u *upstream) removeConnection(c caller, conn *connection) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.callerConnections[c] == conn {
		delete(u.callerConnections, c)
	}
}
