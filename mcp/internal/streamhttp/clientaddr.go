package streamhttp

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// maxForwarded bounds the entries of X-Forwarded-For that are read.
const maxForwarded = 16

// ownerOf returns the owner to which limits charge a request. session is the session of the
// request, or 0: then anonymous clients with one address are distinguished by connection. Behind a
// trusted proxy only the address counts, because one connection of the proxy carries requests
// of many clients.
func (o *Options) ownerOf(r *http.Request, by *mcp.Identity, session limit.Member) limit.Owner {
	p := exchange.PrincipalOf(by)
	if p.Authenticated() {
		return limit.OwnerOf(p, netip.Addr{}, 0)
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return limit.OwnerOf(p, netip.Addr{}, session)
	}
	client, member := o.client(from.Addr(), r.Header), limit.MemberAt(from)
	switch {
	case session != 0:
		member = session
	case client != from.Addr() && client.IsValid() && !client.IsLoopback():
		member = 0
	}
	return limit.OwnerOf(p, client, member)
}

// AddressOf returns the address of the client that sent a request; behind a trusted proxy,
// the address that the proxy states. It is invalid if the address is unknown.
func AddressOf(r *http.Request, trustedProxies []netip.Prefix) netip.Addr {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	o := Options{TrustedProxies: trustedProxies}
	return o.client(from.Addr(), r.Header)
}

// client returns the address of the client: the peer, or the client behind it if the peer is
// a trusted proxy. Every proxy appends the address of its own peer, so the last address that
// is not a trusted proxy is the client's; earlier entries are claims of the client. The
// address is invalid if the proxies state none.
func (o *Options) client(peer netip.Addr, header http.Header) netip.Addr {
	if o == nil || !o.trusts(peer) {
		return peer
	}
	var client netip.Addr
	hops := strings.Split(strings.Join(header[httpheader.ForwardedFor], ","), ",")
	for _, hop := range slices.Backward(hops[max(len(hops)-maxForwarded, 0):]) {
		address, ok := parseHop(hop)
		if !ok {
			break
		}
		if client = address; !o.trusts(client) {
			break
		}
	}
	return client
}

// trusts reports whether an address belongs to a trusted proxy.
func (o *Options) trusts(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return slices.ContainsFunc(o.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// parseHop reads one address of X-Forwarded-For. Some proxies add the port.
func parseHop(s string) (netip.Addr, bool) {
	s = strings.TrimSpace(s)
	if with, err := netip.ParseAddrPort(s); err == nil {
		return with.Addr(), true
	}
	ip, err := netip.ParseAddr(strings.Trim(s, "[]"))
	return ip, err == nil
}
