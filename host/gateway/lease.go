package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// lease keeps a ready connection from becoming idle until it is released.
type lease struct {
	*connection
	client    *mcpclient.Client
	call      *call       // that was added to the connection, or nil
	onRemoved func()      // called after the call was removed
	shared    *connection // the shared connection of the upstream
}

// lease waits until the connection is ready and returns a lease of it. It fails if the
// connection will not be ready soon.
func (c *connection) lease(ctx context.Context) (lease, error) {
	c.addLease()
	client, err := c.waitReady(ctx)
	if err != nil {
		c.removeLease()
	}
	return lease{connection: c, client: client}, err
}

// release ends the lease. If err says that the connection is lost, no new lease gets the
// client until run has checked it.
func (l lease) release(err error) {
	if _, lost := errors.AsType[*mcpclient.LostError](err); lost && l.withdrawClient(l.client) {
		l.reportLoss(err) // the client reports the loss of a connection, but not that of one stream
	}
	if errors.Is(err, mcpauth.ErrSignInRequired) {
		l.withdrawClient(l.client)
		l.reportLoss(err)
		l.shared.withdrawClient(nil) // it uses the same token
		l.shared.reportLoss(err)
	}
	if l.call != nil && l.call.request.Session() == nil && l.call.mayStillRun(err) && !l.stateless() {
		l.abandonCall(l.call)
	}
	l.removeFromConnection()
	l.removeLease()
}

// removeFromConnection removes the call, if there is one.
func (l lease) removeFromConnection() {
	if l.call != nil {
		l.removeCall(l.call)
		l.onRemoved()
	}
}

// endCall removes the call from the connection before the lease ends.
func (l *lease) endCall() {
	l.removeFromConnection()
	l.call = nil
}

// addCall adds a call; nil adds nothing. alone says that messages of the server do not name their
// call. Then addCall reports false if the call cannot share the connection with the calls that are on
// it. A call that was given up does not prevent the next call of its client, nor a call that needs
// this connection and no other.
func (c *connection) addCall(added *call, alone, needed bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if alone && !c.extra {
		c.removeGivenUpLocked()
	}
	switch {
	case added == nil:
		return true
	case alone && slices.ContainsFunc(c.calls, func(other *call) bool { return !added.canShare(other) }):
		return false
	case alone && !needed && !added.receivesNothing() && !c.cancelled.areOf(added.request):
		return false
	}
	c.calls = append(c.calls, added)
	c.markUseLocked()
	close(c.callAdded)
	c.callAdded = make(chan struct{})
	return true
}

func (c *connection) removeCall(removed *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = slices.DeleteFunc(c.calls, func(other *call) bool { return other == removed })
	c.markUseLocked()
}

// firstCall reports whether this is the first call that was answered since the connection
// is ready.
func (c *connection) firstCall() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !c.hadCall
	c.hadCall = true
	return first
}

// stateless reports whether the server speaks the stateless revision.
func (l lease) stateless() bool { return l.client.Revision() == mcp.V20260728 }

// waitReady returns the client when the connection is ready, which is mostly at once.
func (c *connection) waitReady(ctx context.Context) (*mcpclient.Client, error) {
	client, moved, err := c.tryClient()
	if client != nil || err != nil {
		return client, err
	}
	timer := time.NewTimer(c.connectWait)
	defer timer.Stop()
	for client == nil && err == nil {
		c.wake()
		select {
		case <-moved:
			client, moved, err = c.tryClient()
		case <-timer.C:
			return nil, &notReadyError{host.Starting, fmt.Sprintf("not connected after %v", c.connectWait)}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return client, err
}

// tryClient returns the client, or an error if there will be none soon, or a channel to
// wait for.
func (c *connection) tryClient() (*mcpclient.Client, <-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, nil, errConnectionClosed
	case c.state == host.Ready:
		return c.client, nil, nil
	case c.state == host.NeedsSignIn:
		return nil, nil, fmt.Errorf("%w: %s", mcpauth.ErrSignInRequired, c.reason)
	case c.state == host.NeedsApproval, c.state == host.Suspended, c.state == host.Failed && time.Until(c.retry) > maxRetryWait:
		return nil, nil, &notReadyError{c.state, c.reason}
	}
	return nil, c.stateChanged, nil
}

func (c *connection) addLease() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leases++
	c.markUseLocked()
}

func (c *connection) removeLease() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leases--
	c.lastUsed = time.Now()
	c.markUseLocked()
}

// withdrawClient keeps new leases from getting the client until run has checked its connection. Nil
// stands for the current client. It reports false if leases do not get the client any more.
func (c *connection) withdrawClient(client *mcpclient.Client) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != host.Ready || client != nil && c.client != client {
		return false
	}
	c.setStateLocked(host.Starting, "", time.Time{})
	return true
}

// logsBelongToCall reports whether log messages that arrive during a call are certainly
// for its caller. In a session they do not name their call, so on a shared connection
// they may belong to another one.
func (l lease) logsBelongToCall() bool {
	shared := l.permanent
	return l.client.Capabilities().Logging != nil && (!shared || l.stateless())
}

// raiseLogLevel asks the server for log messages of a level unless it already sends them.
// In the stateless era each request names its level.
func (l lease) raiseLogLevel(ctx context.Context, level mcp.LoggingLevel) {
	l.mu.Lock()
	enough := l.logLevel != "" && level.Severity() <= l.logLevel.Severity()
	if !enough && l.connection.client == l.client {
		l.logLevel = level
	}
	l.mu.Unlock()
	if enough {
		return
	}
	if err := l.client.SetLogLevel(ctx, level); err != nil {
		l.log.Info("logging: cannot set the level of the upstream", "error", err)
	}
}

func (c *connection) inUse() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leases > 0
}

// hasCallOf reports whether a call of an owner is on the connection.
func (c *connection) hasCallOf(owner mcpserver.Owner) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.calls, func(k *call) bool { return k.request.Owner() == owner })
}

// markUseLocked notes in the pools of connections whether the connection is in use. The caller
// holds mu.
func (c *connection) markUseLocked() {
	busy := c.leases > 0 || len(c.calls) > 0
	if busy == c.busy {
		return
	}
	c.busy = busy
	for _, place := range c.places {
		if busy {
			place.SetBusy()
		} else {
			place.SetIdle(true)
		}
	}
}

// evict closes the connection of a caller to make room for one of another owner.
func (c *connection) evict() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed, c.evicted = true, true
	c.cancel()
}

func (c *connection) addPlace(place *mcpserver.OwnerPlace) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.places = append(c.places, place)
}

func (c *connection) releasePlaces() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, place := range c.places {
		place.Release()
	}
}

// errEvicted is the error of a call whose connection was closed for another owner.
var errEvicted = plainErrorf("the call was ended for another client, because this one has most of the connections to the server")

// endError returns the error of a call at the upstream.
func (l lease) endError(err error) error {
	if err == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.evicted {
		return errEvicted
	}
	return err
}

// currentState returns the state, and a channel that is closed when it changes.
func (c *connection) currentState() (host.State, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state, c.stateChanged
}

// setReady makes the client available to leases.
func (c *connection) setReady(client *mcpclient.Client) {
	c.mu.Lock()
	c.client, c.lastUsed, c.hadCall = client, time.Now(), false
	c.mu.Unlock()
	select {
	case <-c.restartSignal: // the requested start has happened
	default:
	}
	c.setState(host.Ready, "", time.Time{})
}

// resetLogLevel forgets the requested level, because a new session starts with the
// server's default, and has the level set again that the caller's session has set.
func (c *connection) resetLogLevel() {
	c.mu.Lock()
	c.logLevel = ""
	c.mu.Unlock()
	signal(c.logLevelChanged)
}

// idleIfUnused makes the connection idle if its idle timeout is over, so that no lease
// gets its client. Otherwise it returns how long to wait.
func (c *connection) idleIfUnused() (rest time.Duration) {
	c.mu.Lock()
	switch {
	case c.leases > 0:
		rest = c.idleTimeout
	default:
		rest = c.idleTimeout - time.Since(c.lastUsed)
	}
	if rest <= 0 {
		c.setStateLocked(host.Idle, "", time.Time{})
	}
	c.mu.Unlock()
	return rest
}

// setState changes the state and calls onStateChange.
func (c *connection) setState(state host.State, reason string, retry time.Time) {
	c.mu.Lock()
	c.setStateLocked(state, reason, retry)
	c.mu.Unlock()
	if c.onStateChange != nil {
		c.onStateChange()
	}
}

// setStateLocked changes the state. The caller holds mu.
func (c *connection) setStateLocked(state host.State, reason string, retry time.Time) {
	c.state, c.reason, c.retry = state, cutText(reason, maxReason), retry
	if state != host.Ready {
		c.client = nil
	}
	close(c.stateChanged)
	c.stateChanged = make(chan struct{})
}

// markClosed closes the connection for leases when run ends.
func (c *connection) markClosed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.setStateLocked(host.Idle, "", time.Time{})
}

func (c *connection) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// fillStatus sets the fields of a status that describe the connection.
func (c *connection) fillStatus(s *host.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.State, s.Reason, s.Retry = c.state, c.reason, c.retry
}
