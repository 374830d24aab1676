package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/fondaco/fondaco/host"
)

// The keys of attributes of decisions, and of the store and the bus.
const (
	keyAction    = attribute.Key("fondaco.decision.action")
	keyOutcome   = attribute.Key("fondaco.decision.outcome")
	keyOperation = attribute.Key("fondaco.store.operation")
	keyDirection = attribute.Key("network.io.direction")
	keyError     = attribute.Key("error.type")
)

// instruments are the metrics that the host records itself.
type instruments struct {
	decisions metric.Int64Counter
	store     metric.Float64Histogram
	bus       metric.Int64Counter
}

func newInstruments(m metric.Meter) (i instruments, err error) {
	var errs [3]error
	i.decisions, errs[0] = m.Int64Counter("fondaco.host.decisions", metric.WithUnit("{decision}"),
		metric.WithDescription("What was decided and done: starts, approvals, consents, grants, calls, with their outcomes."))
	i.store, errs[1] = m.Float64Histogram("fondaco.host.store.operation.duration", storeBounds, metric.WithUnit("s"),
		metric.WithDescription("Duration of the operations of the store of the host."))
	i.bus, errs[2] = m.Int64Counter("fondaco.host.bus.messages", metric.WithUnit("{message}"),
		metric.WithDescription("Messages that hosts send each other."))
	return i, errors.Join(errs[:]...)
}

// Decide counts a decision:
//
//	fondaco.host.decisions  by action and outcome, such as approve and done
func (t *Telemetry) Decide(d host.Decision) {
	t.host.decisions.Add(context.Background(), 1, metric.WithAttributes(keyAction.String(string(d.Action)), keyOutcome.String(string(d.Outcome))))
}
