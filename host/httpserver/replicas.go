package httpserver

import (
	"context"
	"net/http"
	"sync"

	"github.com/fondaco/fondaco/host/engine"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/host/replica"
)

// Replicas are this host and the others that use the same store. Those of nil are this host alone.
type Replicas struct {
	group   *replica.Group
	places  *replica.Places
	forward *replica.Forwarder
}

// JoinReplicas makes a host one of those that use a store, in which it is found under the URL at which the others reach
// it. From then on a caller has its connections at one host. The end of ctx is the begin of the host's shutdown.
func JoinReplicas(ctx context.Context, e *engine.Engine, g *gateway.Gateway, url string) (*Replicas, error) {
	records, err := e.Part("replicas")
	if err != nil {
		return nil, err
	}
	r := new(Replicas)
	if r.group, err = replica.Join(ctx, records, url); err != nil {
		return nil, err
	}
	r.places = replica.NewPlaces(r.group, func() replica.Processes { return new(link.Place) })
	r.forward = replica.NewForwarder(r.places, &replica.Options{
		Keys: e.Secrets("forwarded requests"), Needed: g.HasCallerConnections, Draining: ctx,
		Admit: g.Server().AdmitHTTP, TokenName: tokenNameFrom,
		WithProcesses: func(ctx context.Context, p replica.Processes) context.Context {
			place, _ := p.(*link.Place)
			return link.WithPlace(ctx, place)
		},
	})
	return r, nil
}

// Run keeps this host known to the others until stop is called, which is when it has no processes of
// callers any more.
func (r *Replicas) Run(ctx context.Context) (stop func()) {
	if r == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	work.Go(func() {
		serving, stop := context.WithCancel(context.WithoutCancel(ctx))
		work.Go(func() { r.places.Run(serving) })
		defer stop()
		r.group.Run(ctx, r.places.Rejoined)
	})
	return func() {
		cancel()
		work.Wait()
	}
}

// place serves the requests of callers that are here, and forwards the others.
func (r *Replicas) place(h http.Handler) http.Handler {
	if r == nil {
		return h
	}
	return r.forward.Place(h)
}

// accept serves requests that other hosts have forwarded as those of their clients.
func (r *Replicas) accept(h http.Handler) http.Handler {
	if r == nil {
		return h
	}
	return r.forward.Accept(h)
}
