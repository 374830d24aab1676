package mcpware

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// ErrBreakerOpen is the error of requests that a Breaker has not sent.
var ErrBreakerOpen = errors.New("the circuit breaker is open: the server has failed too often")

// BreakerOptions are the options of Breaker. Nil gives the defaults.
type BreakerOptions struct {
	// Failures is the number of consecutive failures that open the breaker.
	// Default: 5.
	Failures int
	// Pause is how long the breaker stays open. Then it passes one request at a time, and the first
	// one that succeeds closes it. Default: 10 seconds.
	Pause time.Duration
	// OnChange is called when the breaker opens and when it closes: for one change after the
	// other, in their order, before the request that has made the change returns or, if the call
	// for an earlier change still runs, after that one. It may use the client.
	OnChange func(open bool)
}

func (o *BreakerOptions) orZero() *BreakerOptions {
	if o == nil {
		return new(BreakerOptions)
	}
	return o
}

func (o *BreakerOptions) failures() int        { return cmp.Or(o.orZero().Failures, 5) }
func (o *BreakerOptions) pause() time.Duration { return cmp.Or(o.orZero().Pause, 10*time.Second) }

// Breaker returns a circuit breaker as middleware: after several consecutive failures of a server,
// requests of the client fail immediately with ErrBreakerOpen for a while. Failures are requests
// without a response: lost connections, deadlines, HTTP statuses from 500 on, and errors of an
// overloaded server. Other error responses and cancelled requests do not count. Each client needs a
// Breaker of its own.
func Breaker(o *BreakerOptions) mcpclient.Middleware {
	o = new(*o.orZero())
	changes := stateChanges{report: o.OnChange}
	b := gobreaker.NewCircuitBreaker[any](gobreaker.Settings{
		MaxRequests:   1,
		Timeout:       o.pause(),
		ReadyToTrip:   func(c gobreaker.Counts) bool { return int(c.ConsecutiveFailures) >= o.failures() },
		IsSuccessful:  func(err error) bool { return !isOutage(err) },
		IsExcluded:    func(err error) bool { return errors.Is(err, context.Canceled) },
		OnStateChange: changes.add,
	})
	return func(next mcpclient.Handler) mcpclient.Handler {
		return func(ctx context.Context, r *mcpclient.Request) (any, error) {
			if r.Inbound {
				return next(ctx, r)
			}
			defer changes.reportAll()
			result, err := b.Execute(func() (any, error) { return next(ctx, r) })
			if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
				return nil, ErrBreakerOpen
			}
			return result, err
		}
	}
}

// stateChanges are the changes of a breaker that OnChange does not know yet. The breaker adds them
// while it holds its lock, and they are reported without one.
type stateChanges struct {
	report func(open bool) // or nil

	mu        sync.Mutex
	waiting   []bool // guarded by mu
	reporting bool   // guarded by mu: a goroutine runs reportAll
}

// add is the OnStateChange of the breaker.
func (c *stateChanges) add(_ string, _, to gobreaker.State) {
	if c.report == nil || to == gobreaker.StateHalfOpen {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, to == gobreaker.StateOpen)
}

// reportAll reports the changes, unless another goroutine or a caller does so.
func (c *stateChanges) reportAll() {
	for {
		open, ok := c.next()
		if !ok {
			return
		}
		func() {
			defer c.reported()
			c.report(open)
		}()
	}
}

// next returns the next change to report. reported has to be called after it was.
func (c *stateChanges) next() (open, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reporting || len(c.waiting) == 0 {
		return false, false
	}
	open, c.waiting = c.waiting[0], c.waiting[1:]
	c.reporting = true
	return open, true
}

func (c *stateChanges) reported() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reporting = false
}

// isOutage reports whether an error counts as a failure of the server.
func isOutage(err error) bool {
	if _, lost := errors.AsType[*mcpclient.LostError](err); lost {
		return true
	}
	if e, ok := errors.AsType[*mcpclient.HTTPError](err); ok {
		return e.Status >= http.StatusInternalServerError
	}
	return errors.Is(err, context.DeadlineExceeded) || err != nil && mcp.CodeOf(err) == mcp.CodeOverloaded
}
