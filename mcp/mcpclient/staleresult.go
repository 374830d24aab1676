package mcpclient

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/httpclient"
)

// sendOrStale sends a request. If the server fails, it returns the stale result in the cache, for
// as long as CacheOptions.StaleIfError allows.
func (c *Client) sendOrStale(ctx context.Context, w *call) (dialect.Outcome, error) {
	if c.opts.Cache.StaleIfError <= 0 {
		return c.sendWithRetries(w)
	}
	usable := dialect.Cacheable(w.Method) && !w.opts.noCache && w.opts.input == nil &&
		!(w.Method == mcp.MethodResourcesRead && c.opts.Pins.Server != "")
	if err := c.outage.pausedBy(); err != nil && usable {
		if outcome, ok := c.staleOutcome(ctx, w, err); ok {
			return outcome, nil
		}
	}
	outcome, err := c.sendWithRetries(w)
	switch {
	case err == nil || ctx.Err() != nil:
		return outcome, err
	case refusesCredentials(err):
		c.outage.refuse()
		return outcome, err
	case !c.serverFailed(w, err):
		return outcome, err
	}
	c.outage.add(err)
	if usable && !c.outage.refused.Load() {
		if stale, ok := c.staleOutcome(ctx, w, err); ok {
			return stale, nil
		}
	}
	return outcome, err
}

// staleOutcome returns the result in the cache, stale or not, if there is one.
func (c *Client) staleOutcome(ctx context.Context, w *call, why error) (dialect.Outcome, bool) {
	req, err := c.lastConnection().requestOf(w)
	if err != nil {
		return dialect.Outcome{}, false
	}
	key, cacheable := req.CacheKey()
	if !cacheable {
		return dialect.Outcome{}, false
	}
	found, _ := c.cache.Lookup(ctx, key)
	if found.Value == nil {
		return dialect.Outcome{}, false
	}
	if !found.Fresh() {
		c.reportStale(ctx, StaleResult{Method: w.Method, URI: key.Name, ReceivedAt: found.ReceivedAt, Err: withPublicErrors(why)})
	}
	return w.answerFrom(&found), true
}

func (c *Client) reportStale(ctx context.Context, r StaleResult) {
	if h := c.opts.Cache.OnStale; h != nil {
		c.runHandler("Options.Cache.OnStale", func() { h(ctx, r) })
		return
	}
	c.opts.logger().Warn("the server fails; a stale result is used", "server", c.target.String(), "method", r.Method, "uri", r.URI,
		"age", time.Since(r.ReceivedAt).Round(time.Second), "error", r.Err)
}

// serverFailed reports whether a request failed because the server cannot be reached, does not
// answer in time, or reports a failure of its own.
func (c *Client) serverFailed(w *call, err error) bool {
	if _, ok := errors.AsType[*PinError](err); ok || errors.Is(err, ErrClosed) || isInvalid(err) {
		return false
	}
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		return e.Remote && (e.Code == mcp.CodeInternal || e.Code == mcp.CodeOverloaded)
	}
	if e, ok := errors.AsType[*httpclient.StatusError](err); ok {
		return e.Status >= http.StatusInternalServerError
	}
	_, lost := errors.AsType[*LostError](err)
	return lost || isTransport(err) || errors.Is(err, context.DeadlineExceeded) || w.conn == nil
}

// refusesCredentials reports whether the server has refused the credentials of a request, or
// there are none.
func refusesCredentials(err error) bool {
	if e, ok := errors.AsType[*httpclient.TransportError](err); ok && e.NoCredentials {
		return true
	}
	e, ok := errors.AsType[*httpclient.StatusError](err)
	return ok && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// outage is a time in which the server fails. The zero value is none. All methods are safe for
// concurrent use.
type outage struct {
	refused atomic.Bool // the credentials were refused, and no result was received since
	lasts   atomic.Bool // failures is not zero

	mu       sync.Mutex
	failures int       // in a row
	until    time.Time // end of the pause
	last     error
}

// pausedBy returns the failure after which requests are not sent yet, or nil.
func (o *outage) pausedBy() error {
	if !o.lasts.Load() || o.refused.Load() {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !time.Now().Before(o.until) {
		return nil
	}
	return o.last
}

// add records a failure. Those of requests that were sent during a pause do not extend it.
func (o *outage) add(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Now().Before(o.until) {
		return
	}
	o.failures++
	o.until, o.last = time.Now().Add(reconnectPause(o.failures)), err
	o.lasts.Store(true)
}

// refuse records that the credentials were refused.
func (o *outage) refuse() { o.refused.Store(true) }

// end records that the server has answered a request, if it has.
func (o *outage) end(answered bool) {
	if !answered || !o.lasts.Load() && !o.refused.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failures, o.until, o.last = 0, time.Time{}, nil
	o.lasts.Store(false)
	o.refused.Store(false)
}
