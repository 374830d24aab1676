package oauth

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

const maxURL = 4 << 10

// ParseEndpoint parses a URL that a peer sent, and that requests or the user's browser may
// then use: it must be absolute, https (or http on the loopback
// interface), without user information and fragment. Every other URL is an
// error.
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

// Secure reports whether requests to u cannot be read on the network: its
// scheme is https, or http on the loopback interface.
func Secure(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && IsLoopback(u.Hostname())
}

// IsLoopback reports whether a host is localhost or a loopback address. It does
// not resolve names.
func IsLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}

// ParseIssuer parses the URL of an issuer. It is like ParseEndpoint, and does
// not allow a query either.
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

// ServerMetadataURLs returns the URLs of an issuer's metadata, in the order in which to try them.
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

// ResourceMetadataURLs returns the URLs of a resource's metadata, in the order
// in which to try them.
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

// ResolveEndpoint returns the URL of an endpoint that a document names. A reference that begins
// with one slash is a path at the origin of the document, which says it of its own origin. Every
// other text is returned as it is.
//
// Spec: RFC 3986 4.2, 5.2, for an absolute path alone
func ResolveEndpoint(document *url.URL, endpoint string) string {
	if !strings.HasPrefix(endpoint, "/") || strings.HasPrefix(endpoint, "//") || strings.HasPrefix(endpoint, `/\`) {
		return endpoint
	}
	return origin(document) + endpoint
}

// insert inserts a well-known path between the origin of u and its path.
func insert(u *url.URL, wellKnown string) string { return origin(u) + wellKnown + barePath(u) }

func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// barePath returns the path without a trailing slash.
func barePath(u *url.URL) string { return strings.TrimSuffix(u.EscapedPath(), "/") }
