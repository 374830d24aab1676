package policy

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/fondaco/fondaco/host"
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
	p.host = strings.ToLower(strings.TrimSuffix(p.host, "."))
	switch {
	case p.port != "":
	case strings.ContainsAny(p.scheme, "*?"):
		p.port = "*"
	default:
		p.port = defaultPort(p.scheme)
	}
	if p.host == "" && p.scheme != "unix" {
		return nil, fmt.Errorf("found %q, want a host", s)
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
// one form: the letters of host and scheme are small, and dots in the path are resolved.
func parts(address string) (*urlPattern, error) {
	scheme, rest, ok := strings.Cut(address, "://")
	authority, below, _ := strings.Cut(rest, "/")
	switch {
	case !ok || authority == "" && scheme != "unix":
		return nil, errors.New("has no host")
	case strings.Contains(authority, "@"):
		return nil, errors.New("has a user in front of its host")
	case !isASCII(authority):
		return nil, errors.New("has a host that is not ASCII; want its form for the domain name system")
	}
	p := &urlPattern{scheme: strings.ToLower(scheme), host: authority, path: path.Clean("/" + below)}
	if host, port, found := cutPort(authority); found {
		p.host, p.port = host, port
	}
	p.host = strings.ToLower(strings.TrimSuffix(p.host, "."))
	if p.port == "" {
		p.port = defaultPort(p.scheme)
	}
	return p, nil
}

func isASCII(s string) bool {
	for _, c := range []byte(s) {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// matches reports whether a URL matches.
func (p *urlPattern) matches(u *urlPattern) bool {
	return host.MatchPattern(p.scheme, u.scheme) && host.MatchPattern(p.host, u.host) && host.MatchPattern(p.port, u.port) &&
		(host.MatchPattern(p.path, u.path) || p.path == u.path+"/")
}
