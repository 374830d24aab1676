package policy

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/userfile"
)

// urlPattern matches URLs part by part, so that no part can hold what another one has to be.
// In each part '*' matches any characters.
type urlPattern struct{ scheme, host, port, path string }

// parsePattern parses a pattern such as https://*.example.com/mcp or unix:///run/*.sock. One without
// a path, such as https://example.com, is for all paths.
func parsePattern(s string) (*urlPattern, error) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || scheme == "" {
		return nil, fmt.Errorf("found %q, want a pattern such as https://*.example.com/*", s)
	}
	authority, below, slash := strings.Cut(rest, "/")
	p := &urlPattern{scheme: strings.ToLower(scheme), host: authority, path: "/" + below}
	if !slash {
		p.path = "*"
	}
	if strings.Contains(authority, "@") || strings.ContainsAny(below, "#?") {
		return nil, fmt.Errorf("found %q, want no user, no query and no fragment", s)
	}
	if host, port, found := cutPort(authority); found {
		p.host, p.port = host, port
	}
	if p.host == "" && p.scheme != "unix" {
		return nil, fmt.Errorf("found %q, want a host", s)
	}
	if err := p.normalize(); err != nil {
		return nil, fmt.Errorf("found %q, which %w", s, err)
	}
	switch {
	case p.port != "":
	case strings.ContainsAny(p.scheme, "*?"):
		p.port = "*"
	default:
		p.port = defaultPort(p.scheme)
	}
	return p, nil
}

// cutPort splits an authority. An IPv6 address is in brackets.
func cutPort(authority string) (host, port string, found bool) {
	i := strings.LastIndexByte(authority, ':')
	if i < 0 || strings.HasSuffix(authority, "]") {
		return authority, "", false
	}
	return authority[:i], authority[i+1:], true
}

func defaultPort(scheme string) string {
	switch scheme {
	case "http":
		return "80"
	case "https":
		return "443"
	}
	return ""
}

// parts are those of the URL of a target, which has no query and whose path is decoded, in
// one form, as normalize makes it, with dots in the path resolved.
func parts(address string) (*urlPattern, error) {
	scheme, rest, ok := strings.Cut(address, "://")
	authority, below, _ := strings.Cut(rest, "/")
	switch {
	case !ok || authority == "" && scheme != "unix":
		return nil, errors.New("has no host")
	case strings.Contains(authority, "@"):
		return nil, errors.New("has a user in front of its host")
	}
	p := &urlPattern{scheme: strings.ToLower(scheme), host: authority, path: path.Clean("/" + below)}
	if host, port, found := cutPort(authority); found {
		p.host, p.port = host, port
	}
	if err := p.normalize(); err != nil {
		return nil, err
	}
	if p.port == "" {
		p.port = defaultPort(p.scheme)
	}
	return p, nil
}

// normalize gives host and port the form in which they are compared: small letters, no dot at the
// end, the address that is connected to in its shortest form, the port without zeros in front.
func (p *urlPattern) normalize() error {
	if port := strings.TrimLeft(p.port, "0"); port != p.port {
		p.port = cmp.Or(port, "0")
	}
	p.host = strings.ToLower(strings.TrimSuffix(p.host, "."))
	inBrackets, ipv6 := strings.CutPrefix(p.host, "[")
	address, err := netip.ParseAddr(strings.TrimSuffix(inBrackets, "]"))
	switch {
	case err == nil && address.Zone() != "":
		return errors.New("has an address with a zone; want it without")
	case err == nil:
		p.host = addressHost(address)
	case p.host == "" || strings.ContainsAny(p.host, "*?"):
	case !isASCII(p.host) || strings.Contains(p.host, "%"):
		return errors.New("has a host that is not ASCII; want its form for the domain name system")
	case ipv6, endsInNumber(p.host):
		return errors.New("has a host that is neither a name nor an IP address; want an address such as 192.0.2.1 or [2001:db8::1]")
	case strings.Contains("."+p.host+".", ".."):
		return errors.New("has a host with a name that is empty")
	}
	return nil
}

// addressHost returns an address as a host. One of IPv4 may be written as one of IPv6, and the
// unspecified address leads to this machine.
func addressHost(a netip.Addr) string {
	switch a = a.Unmap(); {
	case a == netip.IPv4Unspecified():
		return "127.0.0.1"
	case a == netip.IPv6Unspecified():
		return "[::1]"
	case a.Is4():
		return a.String()
	}
	return "[" + a.String() + "]"
}

// endsInNumber reports whether resolvers of names may take a host as an IPv4 address, such as
// 127.1, 2130706433 or 0x7f000001.
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	digits, hex := strings.CutPrefix(last, "0x")
	if hex {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

func isASCII(s string) bool {
	for _, c := range []byte(s) {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// leadsTo reports whether the pattern of one socket and a path of another socket lead to the same one
// by symbolic links.
func (p *urlPattern) leadsTo(socket string) bool {
	return p.scheme == "unix" && socket != "" && (host.MatchPattern(p.path, userfile.RealPath(socket)) || !strings.ContainsAny(p.path, "*?") && userfile.RealPath(p.path) == userfile.RealPath(socket))
}

// matches reports whether a URL matches.
func (p *urlPattern) matches(u *urlPattern) bool {
	return host.MatchPattern(p.scheme, u.scheme) && host.MatchPattern(p.host, u.host) && host.MatchPattern(p.port, u.port) &&
		(host.MatchPattern(p.path, u.path) || p.path == u.path+"/")
}
