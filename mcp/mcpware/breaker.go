package mcpware

import (
	"cmp"
	"context"
	"errors"
	"net/http"
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
	// OnChange is called when the breaker opens and when it closes. It must not use the client.
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
	b := gobreaker.NewCircuitBreaker[any](gobreaker.Settings{
		MaxRequests:   1,
		Timeout:       o.pause(),
		ReadyToTrip:   func(c gobreaker.Counts) bool { return int(c.ConsecutiveFailures) >= o.failures() },
		IsSuccessful:  func(err error) bool { return !isOutage(err) },
		IsExcluded:    func(err error) bool { return errors.Is(err, context.Canceled) },
		OnStateChange: o.changed,
	})
	return func(next mcpclient.Handler) mcpclient.Handler {
		return func(ctx context.Context, r *mcpclient.Request) (any, error) {
			if r.Inbound {
				return next(ctx, r)
			}
			result, err := b.Execute(func() (any, error) { return next(ctx, r) })
			if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
				return nil, ErrBreakerOpen
			}
			return result, err
		}
	}
}

func (o *BreakerOptions) changed(_ string, from, to gobreaker.State) {
	if o.OnChange == nil || from == to || to == gobreaker.StateHalfOpen {
		return
	}
	o.OnChange(to == gobreaker.StateOpen)
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
