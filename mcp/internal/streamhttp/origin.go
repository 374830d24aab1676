package streamhttp

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

// originCheck checks Host and Origin of every request before anything else. Together the two
// checks refuse requests of web pages that the user only visits, also of pages whose host
// name was made to resolve to this machine (DNS rebinding).
//
// Spec: 2025-11-25 basic/transports#security-warning
type originCheck struct {
	hosts     []authority
	origins   map[string]bool // normalized
	anyOrigin bool

	hostAdvice, originAdvice string // ends of refusals
}

// newOriginCheck panics for options that CheckNames refuses.
func newOriginCheck(o *Options) *originCheck {
	g, err := parseOriginCheck(o.orZero())
	if err != nil {
		panic("streamhttp: " + err.Error())
	}
	return g
}

// CheckNames returns an error if an entry of AllowedHosts or AllowedOrigins could never
// match. The error begins with the name of the option.
func (o *Options) CheckNames() error {
	_, err := parseOriginCheck(o.orZero())
	return err
}

func parseOriginCheck(o *Options) (*originCheck, error) {
	g := &originCheck{origins: make(map[string]bool), hostAdvice: adviceOf(o.HostAdvice), originAdvice: adviceOf(o.OriginAdvice)}
	for _, host := range o.AllowedHosts {
		a, ok := parseAuthority(host)
		if !ok {
			return nil, fmt.Errorf("AllowedHosts: %q: want a name such as \"mcp.example.com\", with or without a port", host)
		}
		g.hosts = append(g.hosts, a)
	}
	for _, origin := range o.AllowedOrigins {
		if origin == "*" {
			g.anyOrigin = true
			continue
		}
		if !isOrigin(origin) {
			return nil, fmt.Errorf("AllowedOrigins: %q: want a scheme and a host, with or without a port, and no path and no wildcard, such as \"https://app.example.com\"", origin)
		}
		g.origins[normalizeOrigin(origin)] = true
	}
	return g, nil
}

// isOrigin reports whether a browser may send a text as the origin of a page.
//
// Spec: RFC 6454 6.2
func isOrigin(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" {
		return false
	}
	host, ok := parseAuthority(u.Host)
	port, err := strconv.ParseUint(cmp.Or(host.port, "0"), 10, 16)
	return ok && err == nil && (port > 0 || host.port == "") && strings.EqualFold(s, u.Scheme+"://"+u.Host) && !strings.HasSuffix(s, ":")
}

// normalizeOrigin returns an origin in lower case and without the default port of http and https.
//
// Spec: RFC 6454 4
func normalizeOrigin(origin string) string {
	origin = strings.ToLower(origin)
	switch {
	case strings.HasPrefix(origin, "https://"):
		return strings.TrimSuffix(origin, ":443")
	case strings.HasPrefix(origin, "http://"):
		return strings.TrimSuffix(origin, ":80")
	}
	return origin
}

// adviceOf returns how a refusal ends.
func adviceOf(advice string) string {
	if advice == "" {
		return ""
	}
	return "; " + advice
}

// admit checks the number of header fields, the Host and the Origin of a request. If it admits
// a page of another origin, it sets the CORS headers that let the page read the answer.
func (g *originCheck) admit(w http.ResponseWriter, r *http.Request) *refusal {
	g.allowReading(w.Header(), r) // also of a refusal
	if refused := checkHeaderCount(r.Header); refused != nil {
		return refused
	}
	host, refused := g.hostOf(r, len(g.hosts) > 0 || onLoopback(r))
	if refused != nil {
		return refused
	}
	return g.checkOrigin(r, g.isServerName(host) || host.isAddress())
}

// hostOf returns the host of a request. If enforced is true, it refuses names that are not
// the server's.
func (g *originCheck) hostOf(r *http.Request, enforced bool) (authority, *refusal) {
	host, ok := parseAuthority(r.Host)
	if !ok {
		return authority{}, refuse(http.StatusBadRequest, "host header: want the name of the server")
	}
	if enforced && !g.isServerName(host) {
		return authority{}, refuse(http.StatusForbidden, "host %q: not a name of this server: its allowed hosts do not list it%s", clip(r.Host), g.hostAdvice)
	}
	return host, nil
}

// isServerName reports whether the host is a loopback name or a configured one.
func (g *originCheck) isServerName(host authority) bool {
	return host.isLoopback() || slices.ContainsFunc(g.hosts, func(a authority) bool {
		return a.name == host.name && (a.port == "" || a.port == host.port)
	})
}

// onLoopback reports whether the request was received at a loopback address. It returns true
// if the address is unknown.
func onLoopback(r *http.Request) bool {
	from := exchange.DescribeHTTP(r)
	return from.OnLoopback()
}

// checkOrigin refuses pages of other origins. It admits a page of the server's own origin
// only if the host cannot have been rebound: a configured name or an IP address.
func (g *originCheck) checkOrigin(r *http.Request, hostTrusted bool) *refusal {
	origins := r.Header[httpheader.Origin]
	switch {
	case len(origins) == 1 && g.allowed(origins[0], r):
		return nil
	case r.Header.Get(httpheader.SecFetchSite) == "cross-site":
		return refuse(http.StatusForbidden, "a request of another site: its origin is not among the allowed origins%s", g.originAdvice)
	case len(origins) == 0:
		return nil
	case len(origins) > 1:
		return refuse(http.StatusForbidden, "origin: found %d, want one", len(origins))
	case !hostTrusted || !sameAuthority(origins[0], r.Host):
		return refuse(http.StatusForbidden, "origin %q: not among the allowed origins%s", clip(origins[0]), g.originAdvice)
	}
	return nil
}

// allowed reports whether the origin of a request is a configured one. "*" does not match for
// an authenticated request, because a browser may have added the credentials.
func (g *originCheck) allowed(origin string, r *http.Request) bool {
	anonymous := mcp.IdentityFrom(r.Context()) == nil
	return g.anyOrigin && origin != "null" && anonymous || g.origins[normalizeOrigin(origin)]
}

// sameAuthority reports whether an origin is that of a host. The scheme is not
// compared, since TLS often ends in front of this process.
func sameAuthority(origin, host string) bool {
	scheme, rest, ok := strings.Cut(strings.ToLower(origin), "://")
	return ok && (scheme == "http" || scheme == "https") && rest == strings.ToLower(host)
}

// authority is the name and the port of a Host header.
type authority struct {
	name string // lower case, an IPv6 address without brackets
	port string // may be empty
}

// parseAuthority splits a Host header or an entry of the allowed hosts. It removes a dot at
// the end of the name.
func parseAuthority(s string) (authority, bool) {
	name, port := s, ""
	if i := strings.LastIndexByte(s, ':'); i > strings.LastIndexByte(s, ']') {
		name, port = s[:i], s[i+1:]
	}
	if inner, ok := strings.CutPrefix(name, "["); ok {
		if name, ok = strings.CutSuffix(inner, "]"); !ok || !strings.Contains(name, ":") {
			return authority{}, false
		}
	} else if strings.Contains(name, ":") {
		return authority{}, false
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	bad := func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune(`/\@[]"<>*`, c) }
	if name == "" || strings.ContainsFunc(name, bad) || strings.ContainsFunc(port, func(c rune) bool { return c < '0' || c > '9' }) {
		return authority{}, false
	}
	return authority{name: name, port: port}, true
}

// address returns the name as an IP address, if it is one.
func (a authority) address() (netip.Addr, bool) {
	ip, err := netip.ParseAddr(a.name)
	return ip.Unmap(), err == nil && ip.Zone() == ""
}

func (a authority) isAddress() bool {
	_, ok := a.address()
	return ok
}

func (a authority) isLoopback() bool {
	if a.name == "localhost" || a.name == "127.0.0.1" {
		return true
	}
	ip, ok := a.address()
	return ok && ip.IsLoopback()
}
