package cli

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"sync"

	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/host/replica"
)

// replicas are this host and the others that use the same store. Nil if there is no such store.
type replicas struct {
	group   *replica.Group
	places  *replica.Places
	forward *replica.Forwarder
}

// joinReplicas makes this host one of those that use the store, and places callers from then on.
func (v *upCommand) joinReplicas(ctx context.Context, listener net.Listener) (*replicas, error) {
	if v.main.shared == nil {
		return nil, nil
	}
	address, err := v.advertised(listener.Addr().(*net.TCPAddr))
	if err != nil {
		return nil, err
	}
	records, err := v.engine.Part("replicas")
	if err != nil {
		return nil, err
	}
	r := new(replicas)
	if r.group, err = replica.Join(ctx, records, address); err != nil {
		return nil, err
	}
	r.places = replica.NewPlaces(r.group, func() replica.Processes { return new(link.Place) })
	r.forward = replica.NewForwarder(r.places, &replica.Options{
		Keys: v.engine.Secrets("forwarded requests"), Needed: v.gateway.HasCallerConnections, Draining: ctx,
		Admit: v.gateway.Server().AdmitHTTP, TokenName: tokenNameFrom,
		WithProcesses: func(ctx context.Context, p replica.Processes) context.Context {
			place, _ := p.(*link.Place)
			return link.WithPlace(ctx, place)
		},
	})
	return r, nil
}

// addressVariable has the URL at which other hosts reach this one. Each host has another, so it is a
// variable: an orchestrator sets it.
const addressVariable = "FONDACO_ADVERTISE"

// advertised returns the URL at which other hosts reach this one.
func (v *upCommand) advertised(addr *net.TCPAddr) (string, error) {
	advertise, _ := v.main.Getenv(addressVariable)
	if advertise == "" {
		if addr.IP.IsUnspecified() || v.transport.encrypted() {
			return "", usagef("--store with --addr %s: set %s to the URL at which the other hosts reach this one, such as http://10.0.0.7:%d", addr, addressVariable, addr.Port)
		}
		return baseURL(addr), nil
	}
	u, err := url.Parse(advertise)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" {
		return "", usagef("%s=%q: want a URL with a scheme and a host, such as http://10.0.0.7:7000", addressVariable, advertise)
	}
	return u.Scheme + "://" + u.Host, nil
}

// run keeps this host known to the others until stop is called, which is when it has no processes of
// callers any more.
func (r *replicas) run(ctx context.Context) (stop func()) {
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
func (r *replicas) place(h http.Handler) http.Handler {
	if r == nil {
		return h
	}
	return r.forward.Place(h)
}

// accept serves requests that other hosts have forwarded as those of their clients.
func (r *replicas) accept(h http.Handler) http.Handler {
	if r == nil {
		return h
	}
	return r.forward.Accept(h)
}
