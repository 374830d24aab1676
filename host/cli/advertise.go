package cli

import (
	"context"
	"net"
	"net/url"

	"github.com/fondaco/fondaco/host/httpserver"
)

// joinReplicas makes this host one of those that use the store. It returns nil if there is no such store.
func (v *upCommand) joinReplicas(ctx context.Context, listener net.Listener) (*httpserver.Replicas, error) {
	if !v.main.storage().IsShared() {
		return nil, nil
	}
	address, err := v.advertised(listener.Addr().(*net.TCPAddr))
	if err != nil {
		return nil, err
	}
	return httpserver.JoinReplicas(ctx, v.engine, v.gateway, address)
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
		return httpserver.BaseURL(addr), nil
	}
	u, err := url.Parse(advertise)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" {
		return "", usagef("%s=%q: want a URL with a scheme and a host, such as http://10.0.0.7:7000", addressVariable, advertise)
	}
	return u.Scheme + "://" + u.Host, nil
}
