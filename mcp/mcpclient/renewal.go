package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpclient"
)

// renewal is one attempt to make a lost connection anew, shared by all that
// wait for it.
type renewal struct {
	lost   *connection
	clocks exchange.Clocks // of those who wait
	done   chan struct{}
	k      *connection // set before done is closed
	err    error       // likewise
}

// live returns the current connection and, when that was lost, waits for it to
// be made anew.
func (c *Client) live(ctx context.Context) (*connection, error) {
	k, r, err := c.currentOrRenewal()
	if k != nil || err != nil {
		return k, err
	}
	defer r.clocks.Add(ctx)()
	select {
	case <-r.done:
		return r.k, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (c *Client) currentOrRenewal() (*connection, *renewal, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, ErrClosed
	}
	lost := c.current.link.Err()
	if lost == nil {
		return c.current, nil, nil
	}
	if !c.mayRenew(lost) {
		return nil, nil, &LostError{lost}
	}
	if c.renewal == nil {
		pause, err := c.pauseAfter(lost)
		if err != nil {
			return nil, nil, err
		}
		r := &renewal{lost: c.current, done: make(chan struct{})}
		c.renewal = r
		c.beginLocked(func() { c.renew(r, pause) })
	}
	return nil, c.renewal, nil
}

// mayRenew reports whether a lost connection is made anew. What was agreed on
// and the server has forgotten always is: nothing else was lost.
//
// Spec: 2025-11-25 basic/transports#session-management
func (c *Client) mayRenew(lost error) bool {
	forgotten := errors.Is(lost, httpclient.ErrSessionLost) || errors.Is(lost, errRenegotiate)
	return c.target.renewable() && (forgotten || !c.opts.NoRestart)
}

// pauseAfter returns how long to wait before the next renewal, or an error while
// there is to be none. The caller holds mu.
func (c *Client) pauseAfter(lost error) (time.Duration, error) {
	now := time.Now()
	switch {
	case now.Before(c.parked):
		return 0, c.parkedFor(lost)
	case !c.parked.IsZero(): // one attempt, which may fail like those before
		c.parked = time.Time{}
		return 0, nil
	}
	lasted := c.current.lasted(now)
	if errors.Is(lost, httpclient.ErrSessionLost) && lasted >= leastPause {
		return 0, nil // the server is there, and maybe another one
	}
	c.failures.add(now, lasted, c.target.spawns())
	if !c.failures.parked {
		return c.failures.pause(), nil
	}
	c.parked = now.Add(parkedPause)
	return 0, c.parkedFor(lost)
}

// errParked is in the chain of the error of calls to a server that is not started
// again for now.
var errParked = fmt.Errorf("lost %d times within %v", tooMany, window)

func (c *Client) parkedFor(lost error) error {
	left := time.Until(c.parked).Round(time.Second)
	return &LostError{fmt.Errorf("%w, to be started again in %v: %w", errParked, left, lost)}
}

// lasted returns how long a lost connection was there, and nothing when that was
// asked before: what failed since then was to make the next one. The caller holds
// the client's mu.
func (k *connection) lasted(now time.Time) time.Duration {
	if k.counted {
		return 0
	}
	k.counted = true
	if ended := k.ended.Load(); ended != 0 {
		now = time.Unix(0, ended)
	}
	return now.Sub(k.begun)
}

// renew makes the connection anew.
func (c *Client) renew(r *renewal, pause time.Duration) {
	defer close(r.done)
	r.lost.reportLost()
	if r.err = sleep(c.ctx, pause); r.err == nil {
		ctx := exchange.WithClock(c.ctx, &r.clocks)
		if r.k, r.err = c.establish(ctx); isTransport(r.err) { // that server was just ending, too
			r.k, r.err = c.establish(ctx)
		}
	}
	c.mu.Lock()
	c.renewal = nil
	if r.err == nil && c.closed {
		r.err = ErrClosed
	}
	if r.err == nil {
		c.adopt(r.k)
	}
	c.mu.Unlock()
	if r.err != nil {
		if r.k != nil {
			_ = r.k.link.Close()
		}
		r.k = nil
		return
	}
	c.tools.forget()
	c.cache.forgetAll()
	c.emit(Event{Kind: EventReinitialised})
}

// renegotiate gives up a connection whose server has ceased to speak the
// revision that was agreed on.
func (c *Client) renegotiate(k *connection) bool {
	if !c.target.renewable() {
		return false
	}
	k.link.End(errRenegotiate)
	return true
}

var errRenegotiate = errors.New("the server has ceased to speak the revision")

// mind watches over a connection: it pings an idle session, and frees what a
// lost one holds.
func (c *Client) mind(k *connection) {
	k.touch()
	var tick <-chan time.Time
	if every := c.opts.pingInterval(); every > 0 && !k.stateless() {
		ticker := time.NewTicker(every - rand.N(every/10+1))
		defer ticker.Stop()
		tick = ticker.C
	}
	for misses := 0; ; {
		select {
		case <-tick:
			misses = c.pulse(k, misses)
		case <-k.link.Done():
			k.ended.Store(time.Now().UnixNano())
			k.reportLost()
			_ = k.link.Close()
			return
		}
	}
}

// reportLost says once that the connection has ended, unless the client ended
// it.
func (k *connection) reportLost() {
	err := k.link.Err()
	if errors.Is(err, ErrClosed) {
		return
	}
	k.lost.Do(func() {
		k.client.opts.logger().Info("connection lost", "server", k.client.target.String(), "error", err)
		k.client.emit(Event{Kind: EventLost, Err: err})
	})
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
