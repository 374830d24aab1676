package egress

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// special lists the non-public ranges that netip does not know. Addresses that
// embed an IPv4 address are checked by that address, see embedded.
//
// Spec: IANA IPv4 and IPv6 Special-Purpose Address Registries, RFC 6890
var special = parsePrefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
	"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32",
	"3fff::/20", "5f00::/16", "fec0::/10",
)

var (
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")
)

// Allows reports whether the policy allows connections to addr.
func (p *Policy) Allows(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	if v4, ok := embedded(addr); ok {
		return p.Allows(v4)
	}
	if addr.IsLoopback() && p.Loopback || within(p.Prefixes, addr) {
		return true
	}
	return public(addr)
}

// lookupTimeout bounds how long CheckHost waits for the addresses of a name. Behind a proxy there is
// often nobody who knows them.
const lookupTimeout = 3 * time.Second

// CheckHost returns an error for a host that must not be opened in a browser or through a proxy: an
// address that the policy does not allow, localhost, a number that browsers parse as an address,
// and a name of which one of the addresses is not allowed, because the browser may connect to any of
// them. The browser or the proxy resolves the name again later, and may get other addresses. A name
// with characters outside of ASCII is an error: browsers and net/http map it to another name or to an
// address, such as 169。254。169。254.
//
// A name that cannot be resolved is an error, except if requests to it use a proxy, which then
// resolves the name.
//
// Spec: RFC 6761 6.3; URL Standard 3.5 (ends in a number)
func (p *Policy) CheckHost(ctx context.Context, host string) error {
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	addr, err := netip.ParseAddr(name)
	switch {
	case name == "localhost" || strings.HasSuffix(name, ".localhost"):
		addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case !isASCII(name):
		return fmt.Errorf("host %.64q: want a name in ASCII, with xn-- for other characters", host)
	case err != nil && endsInNumber(name):
		return fmt.Errorf("host %.64q: want a name, or an address in its usual form", host)
	case err != nil:
		return p.checkName(ctx, name)
	}
	if !p.Allows(addr) {
		return &BlockedError{addr}
	}
	return nil
}

// checkName returns an error if the policy does not allow an address of a name.
func (p *Policy) checkName(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	lookup := p.Lookup
	if lookup == nil {
		lookup = net.DefaultResolver.LookupNetIP
	}
	addrs, err := lookup(ctx, "ip", name)
	if err != nil {
		u := &url.URL{Scheme: "https", Host: name, Path: "/"}
		if proxy, _ := p.proxyOf(&http.Request{Method: http.MethodGet, URL: u, Host: name}); proxy != nil {
			return nil
		}
		return fmt.Errorf("host %.64q: %w", name, err)
	}
	for _, addr := range addrs {
		if !p.Allows(addr) {
			return fmt.Errorf("host %.64q: %w", name, &BlockedError{addr})
		}
	}
	return nil
}

func endsInNumber(name string) bool {
	last := name[strings.LastIndex(name, ".")+1:]
	_, err := strconv.ParseUint(last, 0, 64)
	return err == nil || strings.Trim(last, "0123456789") == ""
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

// public reports whether addr is a public Internet address.
func public(addr netip.Addr) bool {
	return addr.IsGlobalUnicast() && !addr.IsPrivate() && !within(special, addr)
}

// embedded returns the IPv4 address to which a translator (such as NAT64) or a
// relay forwards packets for addr.
//
// Spec: RFC 6052 2.1; RFC 3056 2
func embedded(addr netip.Addr) (netip.Addr, bool) {
	b := addr.As16()
	switch {
	case nat64.Contains(addr):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return netip.Addr{}, false
}

func within(prefixes []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(addr) })
}

func parsePrefixes(texts ...string) []netip.Prefix {
	prefixes := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		prefixes[i] = netip.MustParsePrefix(text)
	}
	return prefixes
}
