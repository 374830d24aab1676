package link

import (
	"context"
	"time"
)

// StartReportInterval is the time between two reports to a caller that waits for a connection.
const StartReportInterval = 5 * time.Second

// Waiter is a request that waits for a connection.
type Waiter interface {
	// ReportStart is called every StartReportInterval while the connection is made, on the goroutine
	// that waits.
	ReportStart()
}

type startDeadlineKey struct{}

// WithStartDeadline returns a context for a request that has waited already: a lease waits until the
// given time for its connection.
func WithStartDeadline(ctx context.Context, t time.Time) context.Context {
	return context.WithValue(ctx, startDeadlineKey{}, t)
}

// waitLimit returns how long a lease waits until the connection is made.
func (c *Conn) waitLimit(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Value(startDeadlineKey{}).(time.Time); ok {
		return min(time.Until(deadline), c.ConnectWait)
	}
	return c.ConnectWait
}
