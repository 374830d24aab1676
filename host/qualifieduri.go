package host

import "strings"

// uriScheme is the scheme of qualified URIs. No upstream has plain URIs of this scheme.
const uriScheme = "fondaco"

// MetaServer is the member of _meta of what a resource was read as that names the upstream
// it comes from, by its key.
const MetaServer = "io.github.fondaco/server"

// QualifiedURI returns the URI under which clients reach a resource of one upstream, whoever
// else has a resource with the same URI: fondaco://KEY/URI. The same with a URI template
// gives the template of the qualified URIs.
func QualifiedURI(key, uri string) string { return uriScheme + "://" + key + "/" + uri }

// ParseQualifiedURI returns the upstream and its URI from a qualified URI.
func ParseQualifiedURI(qualified string) (key, uri string, ok bool) {
	rest, ok := strings.CutPrefix(qualified, uriScheme+"://")
	if !ok {
		return "", "", false
	}
	key, uri, ok = strings.Cut(rest, "/")
	return key, uri, ok && CheckKey(key) == nil && uri != ""
}

// IsQualified reports whether a URI or URI template has the scheme of qualified URIs. An
// upstream that is a host itself may have such URIs; its clients see them qualified again.
func IsQualified(uri string) bool {
	scheme, _, ok := strings.Cut(uri, ":")
	return ok && strings.EqualFold(scheme, uriScheme)
}
