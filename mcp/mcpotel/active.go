package mcpotel

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"weak"

	"go.opentelemetry.io/otel/metric"
)

// activeCounts counts the messages in progress, by method. They are read when the metrics are collected: a message costs two atomic
// additions, and not two measurements.
type activeCounts struct {
	byMethod cache[string, *activeCount]
}

type activeCount struct {
	n     atomic.Int64
	attrs metric.MeasurementOption
}

// newActiveCounts returns the counts of a server or client. The meter does not keep them alive: a program may have any
// number of clients, one after another.
func newActiveCounts(m metric.Meter, side string) (*activeCounts, error) {
	counter, err := m.Int64ObservableUpDownCounter("fondaco."+side+".requests.active", metric.WithUnit("{request}"),
		metric.WithDescription("Requests and notifications that are in progress."))
	counts := new(activeCounts)
	reference := weak.Make(counts)
	registration, registerErr := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		if counts := reference.Value(); counts != nil {
			counts.observe(o, counter)
		}
		return nil
	}, counter)
	if registerErr == nil {
		runtime.AddCleanup(counts, func(r metric.Registration) { _ = r.Unregister() }, registration)
	}
	return counts, errors.Join(err, registerErr)
}

// of returns the count of a method.
func (c *activeCounts) of(i *instruments, method string) *activeCount {
	return c.byMethod.get(method, func(method string) *activeCount {
		return &activeCount{attrs: i.with(keyMethod.String(method))}
	})
}

func (c *activeCounts) observe(o metric.Observer, counter metric.Int64Observable) {
	if made := c.byMethod.made.Load(); made != nil {
		for _, count := range *made {
			o.ObserveInt64(counter, count.n.Load(), count.attrs)
		}
	}
}
