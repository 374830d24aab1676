// Package httpserver serves a host over HTTP: its routes, which clients may use them, and at which of several hosts a
// caller is served. It knows no flags.
//
//	Handler ─ accept ─ onlyFrom ─┬─ /mcp, /sse ─ protect ─ place ─ the server of the gateway
//	                             ├─ /readyz, /healthz
//	                             ├─ /.well-known/oauth-protected-resource
//	                             └─ /, /console/
//
// Programs of the same user reach a host at its control socket, see package control.
package httpserver

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	readyPath  = "/readyz"  // answers 200 if the host takes requests
	healthPath = "/healthz" // answers 200 as long as the process serves at all
)

// Options say who may use a host.
type Options struct {
	// Resource authenticates clients. Nil: each request is served, as that of the anonymous principal.
	Resource *mcpauth.Resource
	// Revocations refuse what was revoked. Required with Resource.
	Revocations *Revocations
	// Replicas are the hosts that use the same store. Default: there is no other.
	Replicas *Replicas
	// Console is what / and /console/ show. It authenticates its user itself. Required.
	Console http.Handler
	// Proxies are the only other machines that may send requests in plain text, as a proxy in front that does TLS.
	// Readiness and health can be asked for from everywhere. Empty: each machine may send requests.
	Proxies []netip.Prefix
}

// Handler returns the handler of a host: the endpoints of its server, checks for load balancers and supervisors, and the
// console.
func Handler(s *mcpserver.Server, o Options) http.Handler {
	mux := http.NewServeMux()
	streamable, events := s.HTTPHandler(), s.EventStreamHandler()
	for path, h := range map[string]endpoint{
		"/mcp": {o.Replicas.place(streamable), streamable.(admitter)}, "/sse": {events, events.(admitter)},
	} {
		if o.Resource == nil {
			mux.Handle(path, h)
			continue
		}
		mux.Handle(path, o.Revocations.protect(h, o.Resource.Protect))
	}
	if o.Resource != nil { // tells clients where to get tokens
		mux.Handle("/.well-known/oauth-protected-resource", o.Resource.Metadata())
		mux.Handle("/.well-known/oauth-protected-resource/", o.Resource.Metadata())
	}
	mux.Handle(readyPath, s.ReadyHandler())
	mux.HandleFunc(healthPath, func(http.ResponseWriter, *http.Request) {})
	mux.Handle("/{$}", o.Console)
	mux.Handle("/console/", o.Console)
	return o.Replicas.accept(onlyFrom(o.Proxies, mux))
}

// endpoint is a handler of MCP.
type endpoint struct {
	http.Handler
	admitter
}

// admitter makes the checks of Host and Origin of a handler of mcpserver, and answers requests that it
// refuses. See [mcpauth.Resource.Protect].
type admitter interface {
	Admit(http.ResponseWriter, *http.Request) bool
}

// onlyFrom returns a handler that refuses requests of others than the proxies and this machine: anybody in
// the network could otherwise go around the proxies. Readiness can be asked for from everywhere.
func onlyFrom(proxies []netip.Prefix, next http.Handler) http.Handler {
	if len(proxies) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != readyPath && r.URL.Path != healthPath && !mayConnect(proxies, r.RemoteAddr) {
			refuseHTTP(w, r, "requests have to come through the proxy in front of this server", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// mayConnect reports whether a remote address is one of this machine or of some networks.
func mayConnect(networks []netip.Prefix, remote string) bool {
	sender := senderOf(remote)
	return sender.IsLoopback() || slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(sender) })
}

// senderOf returns the address of a remote address without its zone, which no network has. It is invalid, and in no
// network, if the remote address is.
func senderOf(remote string) netip.Addr {
	from, _ := netip.ParseAddrPort(remote)
	return from.Addr().Unmap().WithZone("")
}

// AsLocalUser returns a handler whose requests have the principal of the local user. It is for addresses that only this
// user can reach, or that serve each program of the machine as its user.
func AsLocalUser(h http.Handler) http.Handler {
	user := &mcp.Identity{Principal: mcp.PrincipalLocal}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(mcp.WithIdentity(r.Context(), user)))
	})
}

// BaseURL returns the root URL of what serves plain HTTP at a TCP address, as a client on this machine reaches it.
func BaseURL(addr net.Addr) string {
	at := addr.(*net.TCPAddr)
	name := at.IP.String()
	if at.IP.IsUnspecified() {
		name = "localhost"
	}
	return "http://" + net.JoinHostPort(name, fmt.Sprint(at.Port))
}
