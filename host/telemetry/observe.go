package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/fondaco/fondaco/host"
)

// The keys of attributes of the host.
const (
	keyUpstream = attribute.Key("fondaco.upstream")
	keyState    = attribute.Key("fondaco.upstream.state")
)

// states are all states of an upstream. Each is a series of a metric.
var states = []host.State{
	host.Starting, host.Ready, host.Idle, host.Degraded, host.Failing, host.Failed, host.Suspended, host.NeedsApproval, host.NeedsSignIn,
}

// Sources are what the metrics of a host are read from, each time that they are collected. A nil
// function is none.
type Sources struct {
	// Status returns the state of each upstream.
	Status func() []host.Status
	// Waiting returns how many requests of clients wait to run.
	Waiting func() int
	// Questions returns how many questions wait for the user.
	Questions func(context.Context) (int, error)
}

// Observe adds the metrics of a host:
//
//	fondaco.host.upstream.state              1 for the state that an upstream has, and 0 for the others
//	fondaco.host.upstream.callers            callers that have a connection of their own
//	fondaco.host.upstream.processes          processes of a program
//	fondaco.host.upstream.tools              tools that clients can see
//	fondaco.host.upstream.definitions.waiting  changed definitions that the user has not approved
//	fondaco.host.requests.waiting            requests of clients that wait to run
//	fondaco.host.questions.waiting           questions that wait for the user
func (t *Telemetry) Observe(s Sources) error {
	m := t.meter()
	var errs [7]error
	gauge := func(i int, name, unit, description string) (g metric.Int64ObservableGauge) {
		g, errs[i] = m.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
		return g
	}
	state := gauge(0, "fondaco.host.upstream.state", "{state}", "1 for the state that an upstream has, 0 for the others.")
	callers := gauge(1, "fondaco.host.upstream.callers", "{caller}", "Callers that have a connection of their own.")
	processes := gauge(2, "fondaco.host.upstream.processes", "{process}", "Processes of a program that run.")
	tools := gauge(3, "fondaco.host.upstream.tools", "{tool}", "Tools that clients can see.")
	waiting := gauge(4, "fondaco.host.upstream.definitions.waiting", "{definition}", "Definitions that wait for the approval of the user.")
	questions := gauge(5, "fondaco.host.questions.waiting", "{question}", "Questions that wait for the user.")
	requests := gauge(6, "fondaco.host.requests.waiting", "{request}", "Requests of clients that wait to run.")
	_, err := m.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		if s.Status != nil {
			for _, u := range s.Status() {
				key := keyUpstream.String(u.Key)
				of := metric.WithAttributes(key)
				for _, known := range states {
					n := int64(0)
					if known == u.State {
						n = 1
					}
					o.ObserveInt64(state, n, metric.WithAttributes(key, keyState.String(string(known))))
				}
				o.ObserveInt64(callers, int64(u.Callers), of)
				o.ObserveInt64(processes, int64(u.Processes), of)
				o.ObserveInt64(tools, int64(u.Tools), of)
				o.ObserveInt64(waiting, int64(u.WaitingCount), of)
			}
		}
		if s.Waiting != nil {
			o.ObserveInt64(requests, int64(s.Waiting()))
		}
		if s.Questions == nil {
			return nil
		}
		n, err := s.Questions(ctx)
		if err == nil {
			o.ObserveInt64(questions, int64(n))
		}
		return err
	}, state, callers, processes, tools, waiting, questions, requests)
	return errors.Join(append(errs[:], err)...)
}
