package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/fondaco/fondaco/mcp"
)

// storeBounds are the bounds of the buckets for operations of the store, in seconds.
var storeBounds = metric.WithExplicitBucketBoundaries(0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5, 10)

// Store returns a store that measures the operations of s:
//
//	fondaco.host.store.operation.duration  by operation, with error.type for those that failed
//
// It has the Limits of s. s is the engine itself: Prefixed and Sealed of package store may wrap the result.
func (t *Telemetry) Store(s mcp.Store) mcp.Store { return &measuredStore{s, &t.host} }

type measuredStore struct {
	store mcp.Store
	of    *instruments
}

// maxStoreKey and maxStoreValue are the limits of an mcp.Store that has no others.
const (
	maxStoreKey   = 256
	maxStoreValue = 1 << 20
)

// Limits returns the length of the longest key and the size of the largest value.
func (m *measuredStore) Limits() (key, value int) {
	if l, ok := m.store.(interface{ Limits() (key, value int) }); ok {
		return l.Limits()
	}
	return maxStoreKey, maxStoreValue
}

// measure records an operation that has begun at start.
func (m *measuredStore) measure(ctx context.Context, operation string, start time.Time, err error) {
	attrs := append(make([]attribute.KeyValue, 0, 2), keyOperation.String(operation))
	if err != nil {
		attrs = append(attrs, keyError.String(errorType(err)))
	}
	m.of.store.Record(ctx, time.Since(start).Seconds(), metric.WithAttributes(attrs...))
}

// errorType returns error.type. Texts of errors have any number of values.
func errorType(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return "_OTHER"
}

// Get implements mcp.Store.
func (m *measuredStore) Get(ctx context.Context, key string) (value []byte, found bool, err error) {
	defer func(start time.Time) { m.measure(ctx, "get", start, err) }(time.Now())
	return m.store.Get(ctx, key)
}

// Put implements mcp.Store.
func (m *measuredStore) Put(ctx context.Context, key string, value []byte, ttl time.Duration) (err error) {
	defer func(start time.Time) { m.measure(ctx, "put", start, err) }(time.Now())
	return m.store.Put(ctx, key, value, ttl)
}

// Create implements mcp.Store.
func (m *measuredStore) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (created bool, err error) {
	defer func(start time.Time) { m.measure(ctx, "create", start, err) }(time.Now())
	return m.store.Create(ctx, key, value, ttl)
}

// Swap implements mcp.Store.
func (m *measuredStore) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (swapped bool, err error) {
	defer func(start time.Time) { m.measure(ctx, "swap", start, err) }(time.Now())
	return m.store.Swap(ctx, key, old, value, ttl)
}

// Delete implements mcp.Store.
func (m *measuredStore) Delete(ctx context.Context, key string) (err error) {
	defer func(start time.Time) { m.measure(ctx, "delete", start, err) }(time.Now())
	return m.store.Delete(ctx, key)
}

// List implements mcp.Store.
func (m *measuredStore) List(ctx context.Context, prefix, after string, limit int) (keys []string, err error) {
	defer func(start time.Time) { m.measure(ctx, "list", start, err) }(time.Now())
	return m.store.List(ctx, prefix, after, limit)
}

// Bus returns a bus that counts the messages of b:
//
//	fondaco.host.bus.messages  by direction, with error.type for those that were not sent
func (t *Telemetry) Bus(b mcp.Bus) mcp.Bus {
	return &measuredBus{b, t.host.bus, metric.WithAttributes(keyDirection.String("receive"))}
}

type measuredBus struct {
	bus      mcp.Bus
	messages metric.Int64Counter
	received metric.MeasurementOption
}

// Publish implements mcp.Bus.
func (m *measuredBus) Publish(ctx context.Context, topic string, msg []byte) error {
	err := m.bus.Publish(ctx, topic, msg)
	attrs := append(make([]attribute.KeyValue, 0, 2), keyDirection.String("transmit"))
	if err != nil {
		attrs = append(attrs, keyError.String(errorType(err)))
	}
	m.messages.Add(ctx, 1, metric.WithAttributes(attrs...))
	return err
}

// Subscribe implements mcp.Bus.
func (m *measuredBus) Subscribe(ctx context.Context, topic string, deliver func(msg []byte)) (cancel func(), err error) {
	return m.bus.Subscribe(ctx, topic, func(msg []byte) {
		m.messages.Add(context.Background(), 1, m.received)
		deliver(msg)
	})
}
