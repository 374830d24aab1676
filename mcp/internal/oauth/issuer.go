package oauth

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

const maxURL = 4 << 10

// ParseEndpoint returns an address that a peer has named and that requests, or a
// browser, may be sent to: absolute, https or on the loopback interface http,
// without user and fragment. No other scheme can hide in what it returns.
//
// Spec: RFC 6749 3.1, 3.2; RFC 8252 8.3
func ParseEndpoint(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case len(text) > maxURL:
		return nil, fmt.Errorf("URL of %d bytes: want at most %d", len(text), maxURL)
	case err != nil || u.Host == "" || u.Opaque != "" || u.Hostname() == "":
		return nil, errors.New("URL: want an absolute one such as https://id.example.com")
	case u.User != nil || strings.Contains(text, "#"):
		return nil, errors.New("URL: want one without user and fragment")
	case !Secure(u):
		return nil, fmt.Errorf("URL of scheme %.16q: want https, or http on this machine", u.Scheme)
	}
	return u, nil
}

// Secure reports whether nobody on the way to u can listen: it is https, or http
// on the loopback interface.
func Secure(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && IsLoopback(u.Hostname())
}

// IsLoopback reports whether a host is this machine by its name.
func IsLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}

// ParseIssuer returns the URL of an issuer, which has no query either.
//
// Spec: RFC 8414 2
func ParseIssuer(issuer string) (*url.URL, error) {
	u, err := ParseEndpoint(issuer)
	if err == nil && strings.Contains(issuer, "?") {
		err = errors.New("URL: want one without query")
	}
	if err != nil {
		return nil, fmt.Errorf("issuer: %w", err)
	}
	return u, nil
}

// ServerMetadataURLs returns where the metadata of an issuer may lie, in the order
// in which they are to be tried.
//
// Spec: 2026-07-28 basic/authorization/authorization-server-discovery#authorization-server-metadata-discovery
func ServerMetadataURLs(issuer *url.URL) []string {
	const oauth, openid = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	urls := []string{insert(issuer, oauth), insert(issuer, openid)}
	if path := barePath(issuer); path != "" {
		urls = append(urls, origin(issuer)+path+openid)
	}
	return urls
}

// ResourceMetadataURLs returns where the metadata of a resource may lie, in the
// order in which they are to be tried.
//
// Spec: RFC 9728 3.1; 2026-07-28 basic/authorization/authorization-server-discovery#protected-resource-metadata-discovery-requirements
func ResourceMetadataURLs(resource *url.URL) []string {
	const wellKnown = "/.well-known/oauth-protected-resource"
	urls := []string{insert(resource, wellKnown)}
	if resource.RawQuery != "" {
		urls[0] += "?" + resource.RawQuery
	}
	if root := origin(resource) + wellKnown; root != urls[0] {
		urls = append(urls, root)
	}
	return urls
}

// insert puts a well-known path between the origin of u and its path.
func insert(u *url.URL, wellKnown string) string { return origin(u) + wellKnown + barePath(u) }

func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// barePath is the path without a slash at its end.
func barePath(u *url.URL) string { return strings.TrimSuffix(u.EscapedPath(), "/") }
