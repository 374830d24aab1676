package approval

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
)

// addressConcerns says what is unusual about the address of a URL. Names are not looked
// up, because a lookup would send them.
func addressConcerns(text host.Text) []string {
	parsed, err := url.Parse(text.Written)
	if err != nil || !text.Literal() && strings.Contains(authorityOf(text.Written), "${") {
		return []string{"the address of the server is not in the file: " + authorityOf(text.Written)}
	}
	if parsed.Scheme == "unix" {
		return []string{"it is a socket of this machine"}
	}
	var all []string
	if parsed.User != nil {
		all = append(all, "the URL has a user or password")
	}
	if kind := addressKind(parsed.Hostname()); kind != "" {
		all = append(all, fmt.Sprintf("%s is %s", parsed.Hostname(), kind))
	} else if _, err := netip.ParseAddr(parsed.Hostname()); err != nil {
		if warning := host.AddressWarning(text.Written); warning != "" {
			all = append(all, fmt.Sprintf("%s: %s", parsed.Hostname(), warning))
		}
	}
	if parsed.Scheme == "http" && !host.IsLoopbackHost(parsed.Host) {
		all = append(all, "the connection is not encrypted")
	}
	return all
}

// addressKind describes an address or name that only this machine or its network can
// reach. It is empty for others.
func addressKind(name string) string {
	ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
	if err != nil {
		return nameKind(name)
	}
	ip = embedded(ip.WithZone("").Unmap())
	switch {
	case ip.IsLoopback():
		return "an address of this machine"
	case ip.IsLinkLocalUnicast():
		return "a link-local address, where clouds have the credentials of a machine"
	case ip.IsPrivate(), sharedRange.Contains(ip):
		return "a private address"
	case ip.IsUnspecified(), ip.IsMulticast(), !ip.IsGlobalUnicast():
		return "an address of this machine or its network"
	}
	return ""
}

// sharedRange has the addresses behind the address translation of a provider (RFC 6598).
var sharedRange = netip.MustParsePrefix("100.64.0.0/10")

// nat64 has IPv6 addresses that contain an IPv4 address (RFC 6052).
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// embedded returns the IPv4 address that an IPv6 address contains, if it contains one.
func embedded(ip netip.Addr) netip.Addr {
	if !nat64.Contains(ip) {
		return ip
	}
	bytes := ip.As16()
	return netip.AddrFrom4([4]byte(bytes[12:]))
}

// localSuffixes are the ends of names that the public DNS does not have.
var localSuffixes = []string{".localhost", ".local", ".internal", ".intranet", ".lan", ".home", ".home.arpa", ".corp", ".private"}

func nameKind(name string) string {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	switch {
	case name == "localhost" || strings.HasSuffix(name, ".localhost"):
		return "a name of this machine"
	case strings.Trim(name, "0123456789abcdefx.") == "" && strings.ContainsAny(name[:1], "0123456789") && net.ParseIP(name) == nil:
		return "an address in an unusual form"
	case !strings.Contains(name, "."), slices.ContainsFunc(localSuffixes, func(s string) bool { return strings.HasSuffix(name, s) }):
		return "a name of the local network"
	}
	return ""
}

// authorityOf returns the part of a URL that says where requests go.
func authorityOf(written string) string {
	_, rest, ok := strings.Cut(written, "://")
	if !ok {
		return written
	}
	if depth := strings.Index(rest, "/"); depth >= 0 && strings.Count(rest[:depth], "${") == strings.Count(rest[:depth], "}") {
		return rest[:depth]
	}
	return rest
}
