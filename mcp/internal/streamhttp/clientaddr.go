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

// maxForwarded bounds how many proxies a request is followed through.
const maxForwarded = 16

// ownerOf returns for whom a request counts that belongs to a session, or to none when
// session is 0: then its connection stands for the session. Behind a trusted proxy it
// is the proxy's connection, which carries requests of many clients, so that the
// address alone counts.
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

// AddressOf returns the address of the client that a request comes from: behind a
// trusted proxy the one that the proxy says. It is invalid where none is known.
func AddressOf(r *http.Request, trustedProxies []netip.Prefix) netip.Addr {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	o := Options{TrustedProxies: trustedProxies}
	return o.client(from.Addr(), r.Header)
}

// client returns the address of the client behind the proxies, if the peer is one of
// the trusted ones. Every proxy adds the address of its own peer at the end, so the
// last address that is none of a trusted proxy is the client's; what stands before it
// is what the client says. It is invalid when the proxies say none.
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

// trusts reports whether an address is one of a trusted proxy.
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
