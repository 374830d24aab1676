package approval

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
)

// Remote is a server at a URL.
type Remote struct {
	// URL is that of the configuration, with references unexpanded. Its query and what
	// follows a password are not shown to others.
	URL       string     `json:"url"`
	Transport string     `json:"transport"`
	Headers   []Variable `json:"headers,omitempty"`
	SignIn    []Variable `json:"signIn,omitempty"`
	// Sends says which variables, inputs and files leave the machine, and where in the
	// request.
	Sends []string `json:"sends,omitempty"`
	// Concerns says what is unusual: files outside of the project, and addresses that only
	// this machine or its network can reach.
	Concerns []string `json:"concerns,omitempty"`
}

func (s *Store) remote(u *host.Upstream, key []byte) (*Remote, error) {
	source := u.Source
	if source.URL.Written == "" {
		return nil, fmt.Errorf("the server has neither a command nor a URL")
	}
	r := &Remote{
		URL: source.URL.Written, Transport: u.Transport,
		Headers: s.variables(source.Headers, key), SignIn: s.variables(source.SignIn, key),
	}
	isOutside := func(path string) bool { return s.isOutside(u, path) }
	r.addReferences(isOutside, "in the URL", source.URL.References)
	for _, h := range r.Headers {
		r.addReferences(isOutside, "in the header "+h.Name, h.References)
	}
	for _, v := range r.SignIn {
		r.addReferences(isOutside, "to the authorization server, as "+v.Name, v.References)
	}
	r.Concerns = append(r.Concerns, addressConcerns(source.URL)...)
	return r, nil
}

// origin returns the URL without what may be a secret: a user, the path and the query.
func (r *Remote) origin() string {
	scheme, _, ok := strings.Cut(r.URL, "://")
	if !ok {
		return host.EscapeUnprintable(r.URL)
	}
	if scheme == "unix" {
		return host.EscapeUnprintable(r.URL)
	}
	authority := authorityOf(r.URL)
	return host.EscapeUnprintable(scheme + "://" + authority[strings.LastIndex(authority, "@")+1:])
}

// addReferences records what a text takes out of the machine.
func (r *Remote) addReferences(isOutside func(path string) bool, place string, references []host.Reference) {
	for _, ref := range references {
		sent := string(ref.Kind) + " " + ref.Name + ", " + place
		if ref.Kind == host.FileReference {
			sent = "content of the file " + ref.Name + ", " + place
			if isOutside(ref.Name) {
				r.Concerns = append(r.Concerns, "the file "+ref.Name+" is outside of the project")
			}
		}
		if !slices.Contains(r.Sends, sent) {
			r.Sends = append(r.Sends, sent)
		}
	}
}

// isOutside reports whether a file is not in the project that names it. Symbolic links are
// followed, but to no other machine.
func (s *Store) isOutside(u *host.Upstream, path string) bool {
	if u.Origin.Project == "" {
		return false
	}
	return s.checkLocal(path, u.Origin.Project) != nil || !isBelow(path, u.Origin.Project) || !isBelow(followed(path), followed(u.Origin.Project))
}

// isBelow reports whether a path is dir or below it.
func isBelow(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// followed returns the path without symbolic links, and the path itself if it does not exist.
func followed(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

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
	}
	if parsed.Scheme == "http" && !host.IsLoopbackHost(parsed.Host) {
		all = append(all, "the connection is not encrypted")
	}
	return all
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
