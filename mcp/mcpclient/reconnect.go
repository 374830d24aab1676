package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpclient"
)

// reconnection is one attempt to replace a lost connection. All calls that need the
// connection wait for it.
type reconnection struct {
	lost      *connection
	deadlines exchange.DeadlineGroup // deadlines of the calls that wait
	done      chan struct{}
	k         *connection // set before done is closed
	err       error       // set before done is closed
}

// currentConnection returns the current connection. If that is lost, it waits for a
// reconnection, which it starts unless one is running.
func (c *Client) currentConnection(ctx context.Context) (*connection, error) {
	k, r, err := c.currentOrReconnection()
	if k != nil || err != nil {
		return k, err
	}
	if err := r.deadlines.Wait(ctx, r.done); err != nil {
		return nil, err
	}
	return r.k, r.err
}

func (c *Client) currentOrReconnection() (*connection, *reconnection, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, ErrClosed
	}
	lost := c.current.link.Err()
	if lost == nil {
		return c.current, nil, nil
	}
	if !c.mayReconnect(lost) {
		return nil, nil, &LostError{lost}
	}
	if c.reconnecting == nil {
		pause, err := c.pauseAfter(lost)
		if err != nil {
			return nil, nil, err
		}
		r := &reconnection{lost: c.current, done: make(chan struct{})}
		c.reconnecting = r
		c.goTrackedLocked(func() { c.reconnect(r, pause) })
	}
	return nil, c.reconnecting, nil
}

// mayReconnect reports whether to replace a lost connection. Options.NoRestart does not
// apply to a session that the server no longer knows, because a new one does not start a
// process.
//
// Spec: 2025-11-25 basic/transports#session-management
func (c *Client) mayReconnect(lost error) bool {
	serverRuns := errors.Is(lost, httpclient.ErrSessionLost) || errors.Is(lost, errRenegotiate)
	return c.target.canReconnect() && (serverRuns || !c.opts.NoRestart)
}

// pauseAfter returns the pause before the next reconnection, or an error while the
// server is suspended. The caller holds mu.
func (c *Client) pauseAfter(lost error) (time.Duration, error) {
	now := time.Now()
	switch {
	case now.Before(c.suspendedUntil):
		return 0, c.suspendedError(lost)
	case !c.suspendedUntil.IsZero(): // the suspension is over: one attempt
		c.suspendedUntil = time.Time{}
		return 0, nil
	}
	lasted := c.current.lasted(now)
	if errors.Is(lost, httpclient.ErrSessionLost) && lasted >= minBackoff {
		return 0, nil // the server runs
	}
	c.losses.add(now, lasted, c.target.spawns())
	if !c.losses.suspended {
		return c.losses.pause(), nil
	}
	c.suspendedUntil = now.Add(suspension)
	return 0, c.suspendedError(lost)
}

// errSuspended is in the chain of the errors of calls while a command is suspended.
var errSuspended = fmt.Errorf("lost %d times within %v", maxLosses, lossWindow)

func (c *Client) suspendedError(lost error) error {
	left := time.Until(c.suspendedUntil).Round(time.Second)
	return &LostError{fmt.Errorf("%w, the next start is possible in %v: %w", errSuspended, left, lost)}
}

// lasted returns the duration of a lost connection. Later calls return zero, because
// they follow failed attempts to reconnect. The caller holds Client.mu.
func (k *connection) lasted(now time.Time) time.Duration {
	if k.lossCounted {
		return 0
	}
	k.lossCounted = true
	if ended := k.endedAt.Load(); ended != 0 {
		now = time.Unix(0, ended)
	}
	return now.Sub(k.currentSince)
}

// reconnect replaces the connection after a pause, and ends r.
func (c *Client) reconnect(r *reconnection, pause time.Duration) {
	defer close(r.done)
	r.lost.reportLost()
	if r.err = sleep(c.ctx, pause); r.err == nil {
		ctx := exchange.WithPausable(c.ctx, &r.deadlines)
		if r.k, r.err = c.establish(ctx); isTransport(r.err) { // the new server may have been shutting down, too
			r.k, r.err = c.establish(ctx)
		}
	}
	c.tools.clear() // before the connection is used, because of pins
	c.surface.forget()
	c.cache.NotificationsMissed()
	c.mu.Lock()
	c.reconnecting = nil
	if r.err == nil && c.closed {
		r.err = ErrClosed
	}
	if r.err == nil {
		c.setCurrentLocked(r.k)
	}
	c.mu.Unlock()
	if r.err != nil {
		if r.k != nil {
			_ = r.k.link.Close()
		}
		r.k = nil
		return
	}
	c.emit(Event{Kind: EventReinitialised})
}

// renegotiate ends a connection whose server no longer supports the negotiated
// revision. It reports false if the client cannot reconnect.
func (c *Client) renegotiate(k *connection) bool {
	if !c.target.canReconnect() {
		return false
	}
	k.link.End(errRenegotiate)
	return true
}

var errRenegotiate = errors.New("the server no longer supports the revision")

// checkSession sends a ping in the background, to find out whether the server still
// knows the session. If it does not, the ping opens a new one, like every request.
func (c *Client) checkSession(k *connection) {
	if k.checking.Swap(true) {
		return
	}
	started := c.goTracked(func() {
		defer k.checking.Store(false)
		select {
		case <-c.started:
			_, _, _ = c.sendRequest(c.ctx, &Request{Method: mcp.MethodPing, client: c})
		case <-c.ctx.Done():
		}
	})
	if !started {
		k.checking.Store(false)
	}
}

// monitor pings the server of an idle session, and closes the connection when it is
// lost.
func (c *Client) monitor(k *connection) {
	defer k.reportSession()()
	k.received()
	var tick <-chan time.Time
	if every := c.opts.pingInterval(); every > 0 && !k.stateless() {
		ticker := time.NewTicker(every - rand.N(every/10+1))
		defer ticker.Stop()
		tick = ticker.C
	}
	for misses := 0; ; {
		select {
		case <-tick:
			misses = c.pingIfIdle(k, misses)
		case <-k.link.Done():
			k.endedAt.Store(time.Now().UnixNano())
			k.reportLost()
			k.link.Drain(c.ctx)
			_ = k.link.Close()
			return
		}
	}
}

// reportLost reports the end of the connection once, unless the client ended it.
func (k *connection) reportLost() {
	err := k.link.Err()
	if errors.Is(err, ErrClosed) {
		return
	}
	first := false
	k.reportOnce.Do(func() {
		first = true
		k.client.emit(Event{Kind: EventLost, Err: err})
	})
	if first { // outside of Do, which holds a lock: the logger may call the client
		k.client.opts.logger().Info("connection lost", "server", k.client.target.String(), "error", err)
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
