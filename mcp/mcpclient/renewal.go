package mcpclient

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/streamhttp"
)

// How long a client pauses before it makes a connection anew that keeps being
// lost. A connection that has lasted for settled begins the count again.
const (
	leastPause = 250 * time.Millisecond
	mostPause  = 30 * time.Second
	settled    = time.Minute
)

// pauseAfter returns the pause after so many failures in a short time, with
// some jitter. There is none after the first.
func pauseAfter(failures int) time.Duration {
	if failures <= 0 {
		return 0
	}
	pause := min(leastPause<<min(failures-1, 10), mostPause)
	return pause + rand.N(pause/4)
}

// renewal is one attempt to make a lost connection anew, shared by all that
// wait for it.
type renewal struct {
	lost *connection
	done chan struct{}
	k    *connection // set before done is closed
	err  error       // likewise
}

// live returns the current connection and, when that was lost, waits for it to
// be made anew.
func (c *Client) live(ctx context.Context) (*connection, error) {
	k, r, err := c.currentOrRenewal()
	if k != nil || err != nil {
		return k, err
	}
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
		c.renewal = &renewal{lost: c.current, done: make(chan struct{})}
		r, pause := c.renewal, c.countFailure()
		c.beginLocked(func() { c.renew(r, pause) })
	}
	return nil, c.renewal, nil
}

// mayRenew reports whether a lost connection is made anew. What was agreed on
// and the server has forgotten always is: nothing else was lost.
//
// Spec: 2025-11-25 basic/transports#session-management
func (c *Client) mayRenew(lost error) bool {
	forgotten := errors.Is(lost, streamhttp.ErrSessionLost) || errors.Is(lost, errRenegotiate)
	return c.target.renewable() && (forgotten || !c.opts.NoRestart)
}

// countFailure returns the pause before the next renewal. The caller holds mu.
func (c *Client) countFailure() time.Duration {
	if time.Since(c.renewed) > settled {
		c.failures = 0
	}
	pause := pauseAfter(c.failures)
	c.failures++
	return pause
}

// renew makes the connection anew.
func (c *Client) renew(r *renewal, pause time.Duration) {
	defer close(r.done)
	r.lost.reportLost()
	if r.err = sleep(c.ctx, pause); r.err == nil {
		r.k, r.err = c.establish(c.ctx)
	}
	c.mu.Lock()
	c.renewal, c.renewed = nil, time.Now()
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
